"""Texts without secrets, most of them about passwords and tokens, stay as they are."""

from queuelog_core.redact import redact_error
from tests.redaction.corpus import load

SAMPLES = load(
    *("benign_development", "benign_held_out", "benign_fresh", "benign_unseen"),
    *("benign_blind", "benign_blind_again", "benign_blind_third", "benign_blind_two"),
)
CHANGED_MAX = 0.02


def test_the_corpus_of_texts_without_secrets_is_large_enough() -> None:
    assert len(SAMPLES) >= 140
    assert len({sample.line for sample in SAMPLES}) == len(SAMPLES)
    assert not any(sample.secrets for sample in SAMPLES)


def test_hardly_any_text_without_secrets_is_changed() -> None:
    changed = {
        sample.line: redact_error(sample.text)
        for sample in SAMPLES
        if redact_error(sample.text) != sample.text
    }

    assert len(changed) <= len(SAMPLES) * CHANGED_MAX, changed
