"""What each function may do in AWS: exactly what is written here."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functions.template import AUTHORIZING, MOUNTING, STAGE, Template, compiled

LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
READ_SECRET = {"secretsmanager:GetSecretValue"}
# Lambda attaches a function to a network with these, and IAM cannot narrow them to a resource.
NETWORK_INTERFACES = {
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
}
MOUNT = {"elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"}
HERE = "${AWS::Region}:${AWS::AccountId}"

Permissions = dict[str, set[str]]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return compiled(tmp_path_factory)


def log_of(function: str) -> str:
    group = f"/aws/lambda/queuelog-{STAGE}-{function}"
    return f"arn:${{AWS::Partition}}:logs:{HERE}:log-group:{group}:*"


def in_bucket(keys: str = "") -> str:
    return f"arn:${{AWS::Partition}}:s3:::${{Bucket}}{keys}"


PERMITTED: dict[str, Permissions] = {
    **{
        f"{name.capitalize()}Role": {
            log_of(name): LOG,
            "FileSystem.Arn": MOUNT,
            "*": NETWORK_INTERFACES,
        }
        for name in MOUNTING
    },
    "AuthorizerRole": {log_of("authorize*"): LOG, "KeysSecret": READ_SECRET},
    "DrainRole": {
        log_of("drain"): LOG,
        "DrainKeySecret": READ_SECRET,
        in_bucket("/pdf/*"): {"s3:PutObject"},
        in_bucket("/sync/*"): {"s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"},
        in_bucket(): {"s3:ListBucket"},
        f"arn:${{AWS::Partition}}:ses:{HERE}:identity/*": {
            "ses:SendEmail",
            "ses:SendRawEmail",
        },
    },
}


def statements(template: Template) -> Iterator[tuple[str, Any]]:
    """Role and statement, also of the policies that are attached to a role."""
    for role, found in template.of("IAM::Role").items():
        assert "ManagedPolicyArns" not in found
        for policy in found["Policies"]:
            yield from ((role, each) for each in policy["PolicyDocument"]["Statement"])
    for found in template.of("IAM::Policy").values():
        for role in found["Roles"]:
            yield from ((role["Ref"], each) for each in found["PolicyDocument"]["Statement"])


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def resource_text(resource: Any) -> str:
    """A resource as it is written: what Fn::Sub fills in stays open."""
    if isinstance(resource, str):
        return resource
    ((function, value),) = resource.items()
    return ".".join(value) if function == "Fn::GetAtt" else str(value)


def permissions(template: Template) -> dict[str, Permissions]:
    found: dict[str, Permissions] = defaultdict(lambda: defaultdict(set))
    for role, statement in statements(template):
        assert statement["Effect"] == "Allow"
        assert set(statement) <= {"Effect", "Action", "Resource", "Condition"}
        for resource in listed(statement["Resource"]):
            found[role][resource_text(resource)] |= set(listed(statement["Action"]))
    return {role: dict(granted) for role, granted in found.items()}


def test_each_role_permits_exactly_what_is_written_here(template: Template) -> None:
    assert permissions(template) == PERMITTED


def test_nothing_but_a_network_interface_is_permitted_on_every_resource(
    template: Template,
) -> None:
    for role, granted in permissions(template).items():
        assert granted.get("*", NETWORK_INTERFACES) == NETWORK_INTERFACES, role
        assert not any("*" in action for actions in granted.values() for action in actions)


def test_each_function_has_a_role_of_its_own_and_the_authorizers_share_one(
    template: Template,
) -> None:
    roles = {name: each["Role"]["Fn::GetAtt"][0] for name, each in template.functions.items()}

    own = {name: f"{name.capitalize()}Role" for name in (*MOUNTING, "drain")}
    assert roles == own | dict.fromkeys(AUTHORIZING, "AuthorizerRole")
    assert set(template.of("IAM::Role")) == set(roles.values()), "a role that nobody has"


@pytest.mark.parametrize(
    ("secret", "role"), [("KeysSecret", "AuthorizerRole"), ("DrainKeySecret", "DrainRole")]
)
def test_a_secret_is_read_by_one_role_and_no_role_reads_two(
    template: Template, secret: str, role: str
) -> None:
    assert secret in template.of("SecretsManager::Secret")
    readers = {name for name, granted in permissions(template).items() if secret in granted}

    assert readers == {role}


def test_only_lambda_may_take_a_role(template: Template) -> None:
    for found in template.of("IAM::Role").values():
        (trusted,) = found["AssumeRolePolicyDocument"]["Statement"]
        assert trusted == {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }


def test_the_volume_is_mounted_through_its_access_point_only(template: Template) -> None:
    through = {
        "StringEquals": {"elasticfilesystem:AccessPointArn": {"Fn::GetAtt": ["AccessPoint", "Arn"]}}
    }
    for role, statement in statements(template):
        if set(listed(statement["Action"])) & MOUNT:
            assert statement["Condition"] == through, role


def test_the_worker_lists_only_what_it_copies(template: Template) -> None:
    (condition,) = (
        each["Condition"] for _, each in statements(template) if each["Action"] == "s3:ListBucket"
    )

    assert condition == {"StringLike": {"s3:prefix": "sync/*"}}


@pytest.mark.parametrize(
    ("policy", "condition", "parameter"),
    [
        ("DrainBucketPolicy", "HasBucket", "Bucket"),
        ("DrainSenderPolicy", "HasSender", "Sender"),
    ],
)
def test_without_a_bucket_or_a_sender_nothing_is_permitted_on_one(
    template: Template, policy: str, condition: str, parameter: str
) -> None:
    assert template.resources[policy]["Condition"] == condition
    assert template.document["Conditions"][condition] == {
        "Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, ""]}]
    }
    assert template.document["Parameters"][parameter]["Default"] == ""
