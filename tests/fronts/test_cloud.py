"""What only a deployment shows: its keys, its scheduled functions, a second deployment."""

import json
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from tests.fronts.conftest import Deployed
from tests.fronts.front import Front
from tests.support.cloud import STAGE, admin_key_in
from tests.support.servers import eventually


def secrets(deployed: Deployed) -> list[str]:
    """The registry, and the key of the scheduled worker."""
    with closing(deployed.cloud.client("secretsmanager")) as client:
        return [
            client.get_secret_value(SecretId=f"queuelog-{STAGE}-{name}")["SecretString"]
            for name in ("keys", "drain-key")
        ]


def test_the_first_deployment_makes_a_key_for_the_admin_and_one_for_the_drain(
    deployed: Deployed, cloud_front: Front
) -> None:
    registry, drain_key = secrets(deployed)

    names = [(record["name"], record["role"]) for record in json.loads(registry)["keys"]]
    assert names[:2] == [("admin", "admin"), ("drain", "worker")]
    assert cloud_front.call("GET", "/whoami", "admin").json["name"] == "admin"
    assert cloud_front.call("GET", "/whoami", drain_key).json["name"] == "drain"
    assert drain_key not in deployed.printed
    assert cloud_front.keys["admin"] not in registry


def test_the_drain_runs_jobs_over_http(deployed: Deployed, cloud_front: Front) -> None:
    asked = [
        {"type": "email", "payload": {"to": "ada@example.com"}},
        {"type": "pdf", "payload": {"title": "Åda", "text": "It works."}},
    ]
    made = [cloud_front.call("POST", "/jobs", "producer", body).json for body in asked]

    done = deployed.cloud.invoke("drain", b"{}")

    # One that was scheduled before the schedules were stopped may still run beside it.
    assert done.keys() == {"completed", "failed", "released", "lost"}
    assert done["lost"] == 0

    def ended_job(job_id: int) -> Any:
        job = cloud_front.call("GET", f"/jobs/{job_id}", "admin").json
        return job if job["status"] == "completed" else None

    for job in made:
        ended = eventually(partial(ended_job, job["id"]), "the drain has completed it", 30)
        assert (ended["status"], ended["worker_id"]) == ("completed", "drain")
        assert Path(ended["result"]["file"]).is_relative_to(deployed.cloud.folder)
        assert Path(ended["result"]["file"]).is_file()


def test_the_upkeep_measures_and_backs_up(deployed: Deployed, cloud_front: Front) -> None:
    cloud_front.call("GET", "/jobs", "admin")

    kept_up = deployed.cloud.invoke("maintain", b"{}")
    backed_up: Any = deployed.cloud.invoke("maintain", b'{"backup": true}')

    assert kept_up["ok"] is True
    assert backed_up["ok"] is True
    assert (deployed.cloud.folder / "backups" / backed_up["backup"]).stat().st_size > 0


def test_a_second_deployment_leaves_the_keys_and_the_jobs_alone(
    deployed: Deployed, cloud_front: Front
) -> None:
    before = secrets(deployed)
    # A new schedule fires once before it is stopped.
    delayed = {"type": "sync", "delay_seconds": 3600}
    job = cloud_front.call("POST", "/jobs", "producer", delayed).json

    printed = deployed.cloud.deploy("--built")
    deployed.cloud.stop_schedules()

    assert secrets(deployed) == before
    assert admin_key_in(printed) is None
    assert cloud_front.call("GET", f"/jobs/{job['id']}", "producer").json == job
    assert cloud_front.call("POST", f"/jobs/{job['id']}/cancel", "producer").status == 200
