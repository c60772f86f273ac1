"""`mixstack why`: who waits for the end of what others run, and who for locks that programs wrote themselves."""
import json
import unittest

import mixstack_dump
import processes
from harness import alone
from why_case import FINE, NOT_KNOWN, STUCK, WhyCase


class Ends(WhyCase):
    def test_who_waits_for_an_end_is_not_held_up(self):
        with processes.scenario("hosts") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            waits = {t["name"]: t["wait"]["kind"] for t in answer["threads"] if (t["name"] or "").startswith("host-")}
            self.assertEqual(waits, {f"host-{i}": "task" for i in range(4)})

    def test_threads_that_wait_for_the_end_of_what_others_run(self):
        # Somebody else may set an event: of the two timers with one the cycle is possible.
        for scenario, threads, is_certain in (("deadlock_finalizers", {"holder", ".NET Finalizer"}, True),
                                              ("deadlock_registration", {"holder", "canceller"}, True),
                                              ("deadlock_timer", {"holder", "timer"}, False),
                                              ("deadlock_timer_task", {"holder", "timer"}, True),
                                              ("deadlock_timer_itself", {"timer"}, False)):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                _, answer = self.until_stuck(debuggee)
                names = {t["tid"]: t["name"] or t["comm"] for t in answer["threads"]}
                verdict = answer["verdicts"][0]
                self.assertEqual((verdict["kind"], verdict["is_certain"]), ("deadlock", is_certain))
                self.assertEqual({names[s["thread"]] for s in verdict["steps"]}, threads)
                if scenario != "deadlock_finalizers":
                    self.compare(answer, self.truth(debuggee))

    def test_methods_that_wait_for_the_end_of_what_others_run(self):
        for scenario, threads in (("deadlock_timer_await", {"holder", "timer"}), ("deadlock_for_each", {"holder", "worker"}),
                                  ("deadlock_for_each_at_once", {"holder", "worker"}),
                                  ("deadlock_registration_await", {"holder", "canceller"})):
            with self.subTest(scenario), processes.scenario(scenario) as debuggee:
                _, answer = self.until_stuck(debuggee)
                names = {t["tid"]: t["name"] for t in answer["threads"]}
                [verdict] = answer["verdicts"]
                self.assertEqual((verdict["kind"], verdict["is_certain"]), ("deadlock", True))
                self.assertEqual({names[s["thread"]] for s in verdict["steps"]}, threads)

    def test_finalizers_that_are_waited_for(self):
        with processes.scenario("finalizers_waited_for") as debuggee:
            for _ in range(5):
                status, answer = self.why(debuggee.pid)
                self.assertEqual((status, answer["verdicts"]), (FINE, []))

    def test_a_timer_whose_end_is_waited_for_for_some_time(self):
        with processes.scenario("timer_closed_for_some_time") as debuggee:
            _, answer = self.until_stuck(debuggee)
            [verdict] = answer["verdicts"]
            self.assertEqual((verdict["kind"], verdict["is_certain"]), ("deadlock", False))
            [waits] = [t["wait"] for t in answer["threads"] if t["name"] == "holder"]
            self.assertTrue(waits["gives_up"])


class OwnLocks(WhyCase):
    """Locks that no list has: an object around an event, a gate, a semaphore or a nap, with a field for its owner."""

    def test_cycles_are_possible(self):
        with processes.scenario("own_locks") as debuggee:
            _, answer = self.until_stuck(debuggee)
            self.compare(answer, self.truth(debuggee))
            self.assertEqual([(v["kind"], v["is_certain"], len(v["steps"])) for v in answer["verdicts"]],
                             [("deadlock", False, 2)] * 4)

    @alone("four threads that spin")
    def test_spinning_calls_that_were_inlined(self):
        with processes.scenario("own_spins") as debuggee:
            for _ in range(40):  # now and then one of them looks at its word
                status, answer = self.why(debuggee.pid, "--sample", "0")
                if len(answer["verdicts"]) == 2:
                    break
            self.assertEqual(status, STUCK)
            self.compare(answer, self.truth(debuggee))
            self.assertEqual([(v["kind"], v["is_certain"], len(v["steps"])) for v in answer["verdicts"]],
                             [("deadlock", False, 2)] * 2)

    def test_a_wait_in_libc_is_not_known(self):
        with processes.scenario("libc_semaphore") as debuggee:
            status, out, error, _ = mixstack_dump.run("why", debuggee.pid, "--json")
            self.assertEqual(status, NOT_KNOWN, error)
            answer = json.loads(out)
            [thread] = [t for t in answer["threads"] if t["name"] == "semaphore"]
            self.assertIsNone(thread["wait"])
            # What it is in is named with its file.
            self.assertRegex(mixstack_dump.run("why", debuggee.pid)[1], rf'sem_wait\S*, libc\.so\.6\b.* {thread["tid"]} "semaphore"')

    def test_threads_and_counts_in_fields_are_no_owners(self):
        with processes.scenario("own_turns") as debuggee:
            status, answer = self.why(debuggee.pid)
            self.assertEqual((status, answer["verdicts"]), (FINE, []))
            self.assertEqual({t["wait"]["kind"] for t in answer["threads"] if t["name"] in ("first", "second")}, {"wait_handle"})


if __name__ == "__main__":
    unittest.main()
