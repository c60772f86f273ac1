"""The page of `mixstack why` in Chromium without a window: answers of which it is known what they must show, made by
tests/web, and the answer of a process that is stuck.

MIXSTACK_PICTURES=FOLDER keeps a picture of each page.
"""
import json
import pathlib
import unittest

import browser
import mixstack_dump
import processes
import test_page

APP = "whyPage"


class WhyPageTest(test_page.PageTest):
    def open(self, kind, address="", **options):
        return super().open("why " + kind, address, **options)

    def text(self, page, selector):
        """What can be read there, with single blanks."""
        return " ".join(page.evaluate(f"document.querySelector({json.dumps(selector)}).innerText").split())

    def middle_of(self, page, name):
        """Where to click on the node that is called so."""
        return page.evaluate(f"""(() => {{
            const box = [...document.querySelectorAll('#picture .node')].find(n => n.querySelector('.label').textContent === {json.dumps(name)});
            const r = box.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()""")

    def node_texts(self, page, selector=""):
        return page.evaluate(f"[...document.querySelectorAll('#picture .node{selector}')].map(n => n.querySelector('.label').textContent)")


class Contents(WhyPageTest):
    def test_a_deadlock_is_first_and_in_the_picture(self):
        page = self.open("deadlock")
        self.assertIn("DEADLOCK 2 threads wait for each other in a cycle, 9 more behind them", self.text(page, "#verdicts"))
        self.assertEqual(sorted(self.node_texts(page, ".ring")), ["Account", "Lock", "transfer-a", "transfer-b"])
        self.assertEqual(page.evaluate("document.querySelectorAll('#picture .edge.ring').length"), 4)
        self.assertEqual(self.node_texts(page, ".many"), ["9 threads"])
        self.assertIn("pid 4711", self.text(page, "#account"))
        page.click(*self.middle_of(page, "transfer-b"))
        details = self.text(page, "#details")
        self.assertIn("transfer-b 12", details)
        self.assertIn("held by transfer-a 11", details)
        frames = self.texts(page, "#details .stack .frame")
        self.assertTrue(any("Bank.Transfer(Bank.Account, Bank.Account)" in f for f in frames), frames)
        self.assertEqual(len(frames), 4)
        page.click(*self.middle_of(page, "Account"))
        self.assertIn("Waited for by 10 threads", self.text(page, "#details"))
        self.assertIn("0x1000", self.text(page, "#details"))

    def test_keys(self):
        page = self.open("deadlock")
        page.evaluate("document.getElementById('picture').focus()")
        first = page.evaluate(f"{APP}.picture.selected.id")
        page.press("ArrowRight")
        self.assertNotEqual(page.evaluate(f"{APP}.picture.selected.id"), first)
        page.press("Enter")
        self.assertIn("Waited for by", self.text(page, "#details"))
        scale = page.evaluate(f"{APP}.picture.scale")
        page.press("+")
        self.assertGreater(page.evaluate(f"{APP}.picture.scale"), scale)
        page.press("0")
        self.assertAlmostEqual(page.evaluate(f"{APP}.picture.scale"), scale)
        page.press("?")
        self.assertIn("move in the picture", self.text(page, "#dialog"))
        page.press("Escape")
        page.press("/")
        page.type("teller")
        page.wait("document.getElementById('matched').innerText === '9 threads'")
        self.assertGreater(page.evaluate("document.querySelectorAll('#picture .node.dim').length"), 2)
        page.press("Escape")
        self.assertEqual(page.evaluate("document.querySelectorAll('#picture .node.dim').length"), 0)
        page.press("d")
        self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "dark")

    def test_a_ring_of_five_hundred(self):
        page = self.open("ring")
        self.assertEqual(page.evaluate("document.querySelectorAll('#picture .node.ring').length"), 1000)
        apart = page.evaluate(f"""(() => {{ const seen = new Set({APP}.graph.nodes.map(n => n.x + ' ' + n.y)); return seen.size; }})()""")
        self.assertEqual(apart, 1000)
        width, height = page.evaluate(f"[{APP}.picture.bounds.right, {APP}.picture.bounds.bottom]")
        self.assertLess(max(width, height) / min(width, height), 3)
        self.assertEqual(len(self.texts(page, "#verdicts .thread-link")), 8)
        page.evaluate("[...document.querySelectorAll('#verdicts button')].find(b => b.innerText.includes('492 more')).click()")
        self.assertEqual(len(self.texts(page, "#verdicts .thread-link")), 500)
        page.evaluate("document.querySelector('#verdicts [data-tid=\"1321\"]').click()")
        self.assertIn("ring-321 1321", self.text(page, "#details"))
        self.assertTrue(page.evaluate(f"{APP}.picture.isInView({APP}.picture.selected)"))

    def test_chains_are_merged_with_their_counts(self):
        page = self.open("async")
        self.assertIn("56 threads", self.node_texts(page))
        self.assertIn("OrderApi.GetOrder > ... > Db.ReadRow", page.evaluate(f"{APP}.graph.nodes.map(n => n.label)"))
        self.assertEqual(page.evaluate(f"{APP}.graph.nodes.filter(n => n.kind === 'method').length"), 2)
        listed = self.text(page, "#lists")
        self.assertIn("5 x OrderApi.GetOrder > PriceService.Load > Db.ReadRow awaits a TaskCompletionSource", listed)
        self.assertIn("thread pool: 58 workers", listed)
        self.assertIn("timers: 56, 56 of Task.Delay", listed)
        page.click(*self.middle_of(page, "holder"))
        self.assertIn("Shop.PriceService.Load()", self.text(page, "#details"))

    def test_methods_that_await_each_other(self):
        page = self.open("cycle")
        verdicts = self.text(page, "#verdicts")
        self.assertIn("DEADLOCK 2 async methods await each other in a cycle, 1 thread waits for it", verdicts)
        self.assertIn("PriceService.Load 0x10001 awaits Db.ReadRow", verdicts)
        self.assertIn("Db.ReadRow 0x10002 awaits PriceService.Load", verdicts)
        self.assertEqual(sorted(self.node_texts(page, ".ring")), ["Db.ReadRow", "PriceService.Load"])
        self.assertEqual(page.evaluate("document.querySelectorAll('#picture .edge.ring').length"), 2)
        edges = page.evaluate(f"{APP}.graph.edges.filter(e => !e.ring).map(e => e.from.label + ' ' + e.words + ' ' + e.to.label)")
        self.assertEqual(edges, ["waiter waits for OrderApi.GetOrder", "OrderApi.GetOrder awaits PriceService.Load"])
        page.click(*self.middle_of(page, "Db.ReadRow"))
        self.assertIn("Db.ReadRow awaits PriceService.Load", self.text(page, "#details"))

    def test_what_runs(self):
        page = self.open("busy")
        self.assertTrue(self.text(page, "#verdicts").startswith("BUSY: 1.9 processors, 92 % in methods of the program"))
        self.assertIn("Bank.Transfer", self.text(page, "#verdicts pre"))
        self.assertIn("No thread waits", self.text(page, "#nothing"))

    def test_nothing_at_all(self):
        page = self.open("none")
        self.assertIn("Nothing is stuck", self.text(page, "#verdicts"))

    def test_themes_and_sizes(self):
        for kind in ("deadlock", "async"):
            for dark in (False, True):
                for width, height in ((1400, 900), (390, 800)):
                    page = self.open(kind, dark=dark, width=width, height=height)
                    self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "dark" if dark else "light")
                    self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), width)


class Hostile(WhyPageTest):
    def test_names_are_only_text(self):
        page = self.open("hostile")
        self.assertNotEqual(page.evaluate("document.title"), "owned")
        self.assertEqual(page.evaluate("[document.images.length, document.scripts.length]"), [0, 1])
        self.assertIn("</script>", page.evaluate("document.body.innerText"))
        self.assertNotRegex(page.evaluate("document.body.textContent"), "[\u202a-\u202e\u2066-\u2069\x1b]")
        for name in ("transfer-a", "Lock", "tcp"):
            page.evaluate(f"[...document.querySelectorAll('#picture .node')].find(n => n.textContent.includes({json.dumps(name)})).dispatchEvent(new MouseEvent('click'))")
        self.assertNotEqual(page.evaluate("document.title"), "owned")

    def test_policy_lets_nothing_else_run(self):
        page = self.open("deadlock")
        page.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: 'document.title = 1'}))")
        self.assertNotEqual(page.evaluate("document.title"), "1")
        with self.assertRaises(browser.Failure):
            page.evaluate("fetch('https://example.invalid/')")
        page.complaints.clear()


class OfAProcess(WhyPageTest):
    def test_a_deadlock(self):
        path = pathlib.Path(self.folder.name) / "process.html"
        with processes.scenario("deadlock") as debuggee:
            status, _, error, _ = mixstack_dump.run("why", debuggee.pid, "-o", path)
            self.assertEqual((status, error), (11, f"mixstack: wrote {path}\n"))
        page = self.chromium.open(path.as_uri(), width=1300, height=850)
        page.wait(test_page.READY)
        self.addCleanup(self.leave, page, "process")
        names = [line.split()[1] for line in debuggee.lines]
        for name in names:
            page.click(*self.middle_of(page, name))
            self.assertTrue(self.text(page, "#details").startswith(name), self.text(page, "#details"))
            self.assertTrue(any("Scenarios." in f for f in self.texts(page, "#details .frame.u")))


if __name__ == "__main__":
    unittest.main()
