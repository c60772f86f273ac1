"""Tests that passed only when they were run again, by name: said at the end of a run, and kept in build/test-logs."""
import datetime
import pathlib

PATH = pathlib.Path(__file__).resolve().parents[2] / "build" / "test-logs" / "flaky.txt"
MOST = 2000  # characters of a failure


def bounded(text):
    """The text, or its two ends."""
    text = text.strip()
    return text if len(text) <= MOST else f"{text[:MOST // 2]}\n[...]\n{text[-MOST // 2:]}"


def note(name, failure):
    """Prints what a run says of such a test, and appends it to the list."""
    said = "       " + bounded(failure).replace("\n", "\n       ")
    print(f"FAILED ONCE, passed alone: {name}\n{said}", flush=True)
    PATH.parent.mkdir(parents=True, exist_ok=True)
    with open(PATH, "a", encoding="utf-8") as file:
        file.write(f"{datetime.datetime.now().isoformat(' ', 'seconds')} {name}\n{said}\n")
