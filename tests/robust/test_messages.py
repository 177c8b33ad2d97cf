"""docs/troubleshooting.md knows every message that the program can print."""

import os
import re

import pytest
from messages_in_source import all_messages

from tf_autofuse.cluster.reasons import CODES
from tf_autofuse.messages import CODE_HELP, PARTS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENTRIES = [entry for entries in PARTS.values() for entry in entries]


@pytest.fixture(scope="module")
def messages():
    """Texts by place, without those that only pass others on."""
    return {
        place: text
        for place, text in all_messages(ROOT).items()
        if len(re.findall("[a-z]", text.replace("utf-8 replace", ""))) > 3
    }


def test_the_collector_sees_python_and_cpp(messages):
    assert len(messages) > 100
    texts = set(messages.values())
    assert "the file is empty" in texts and "Integer division by zero" in texts


def test_every_message_has_an_entry(messages):
    known = [text for entry in ENTRIES for text in entry.texts]
    missing = {
        place: text for place, text in messages.items() if not any(part in text for part in known)
    }
    assert missing == {}, "add them to tf_autofuse/messages.py"


def test_every_entry_has_a_message(messages):
    texts = "\n".join(messages.values())
    stale = [part for entry in ENTRIES for part in entry.texts if part not in texts]
    assert [part for part in stale if part != "--{}: {}"] == []


def test_every_reason_code_has_help():
    assert set(CODE_HELP) == set(CODES)


def test_entries_say_something():
    for entry in ENTRIES:
        assert entry.texts and entry.meaning.endswith(".") and entry.help.endswith(".")
