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


    def cards(self, page):
        """Of each card: the words of its class, and the threads that it links."""
        return page.evaluate("""[...document.querySelectorAll('#verdicts .verdict')].map(card => [
            card.className.split(' ').slice(1), [...card.querySelectorAll('.thread-link')].map(b => +b.dataset.tid)])""")

    def verdicts(self, page):
        """Of each verdict in the page's data: kind, whether it is certain, threads, methods with what they are boxed in."""
        return page.evaluate(f"{APP}.data.verdicts.map(v => [v.kind, v.certain, v.steps, v.methods.map(m => [m.method, m.box])])")

    def linked(self, page, selector):
        """The threads that can be clicked there."""
        return page.evaluate(f"[...document.querySelectorAll({json.dumps(selector + ' .thread-link')})].map(b => +b.dataset.tid)")

    def waiters_of_the_selected(self, page):
        return page.evaluate(f"{APP}.picture.selected.in.flatMap(e => e.from.threads)")


class Contents(WhyPageTest):
    def test_a_deadlock_is_first_and_in_the_picture(self):
        page = self.open("deadlock")
        [[kind, certain, steps, methods]] = self.verdicts(page)
        self.assertEqual((kind, certain, sorted(steps), methods), ("deadlock", True, [11, 12], []))
        self.assertEqual(self.cards(page)[0], [["certain"], steps])
        self.assertEqual(sorted(self.node_texts(page, ".ring")), ["Account", "Lock", "transfer-a", "transfer-b"])
        self.assertEqual(page.evaluate("document.querySelectorAll('#picture .edge.ring').length"), 4)
        self.assertEqual(self.node_texts(page, ".many"), ["9 threads"])
        self.assertIn("pid 4711", self.text(page, "#account"))
        page.click(*self.middle_of(page, "transfer-b"))
        self.assertEqual(self.text(page, "#details h2"), "transfer-b 12")
        self.assertIn(11, self.linked(page, "#details .row-of"), "the owner of what it waits for")
        frames = self.texts(page, "#details .stack .frame")
        self.assertTrue(any("Bank.Transfer(Bank.Account, Bank.Account)" in f for f in frames), frames)
        self.assertEqual(len(frames), 4)
        page.click(*self.middle_of(page, "Account"))
        self.assertEqual(len(self.waiters_of_the_selected(page)), 10)
        self.assertIn("0x1000", self.texts(page, "#details dd"))

    def test_keys(self):
        page = self.open("deadlock")
        page.evaluate("document.getElementById('picture').focus()")
        first = page.evaluate(f"{APP}.picture.selected.id")
        page.press("ArrowRight")
        self.assertNotEqual(page.evaluate(f"{APP}.picture.selected.id"), first)
        page.press("Enter")
        self.assertLessEqual(set(self.waiters_of_the_selected(page)[:8]), set(self.linked(page, "#details")), "more are behind a button")
        scale = page.evaluate(f"{APP}.picture.scale")
        page.press("+")
        self.assertGreater(page.evaluate(f"{APP}.picture.scale"), scale)
        page.press("0")
        self.assertAlmostEqual(page.evaluate(f"{APP}.picture.scale"), scale)
        page.press("?")
        self.assertGreater(len(self.texts(page, "#dialog kbd")), 5)
        page.press("Escape")
        page.press("/")
        page.type("teller")
        page.wait("document.getElementById('matched').innerText.startsWith('9 ')")
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
        page.evaluate("[...document.querySelectorAll('#verdicts button')].find(b => b.innerText.startsWith('492 ')).click()")
        self.assertEqual(len(self.texts(page, "#verdicts .thread-link")), 500)
        page.evaluate("document.querySelector('#verdicts [data-tid=\"1321\"]').click()")
        self.assertEqual(self.text(page, "#details h2"), "ring-321 1321")
        self.assertTrue(page.evaluate(f"{APP}.picture.isInView({APP}.picture.selected)"))

    def test_chains_are_merged_with_their_counts(self):
        page = self.open("async")
        self.assertIn(56, page.evaluate(f"{APP}.graph.nodes.map(n => n.threads.length)"))
        self.assertIn("OrderApi.GetOrder > ... > Db.ReadRow", page.evaluate(f"{APP}.graph.nodes.map(n => n.label)"))
        self.assertEqual(page.evaluate(f"{APP}.graph.nodes.filter(n => n.kind === 'method').length"), 2)
        unwaited = page.evaluate(f"{APP}.data.chains.filter(c => !c.waiter).map(c => c.steps.map(s => s.method))")
        self.assertEqual(sum(steps == ["OrderApi.GetOrder", "PriceService.Load", "Db.ReadRow"] for steps in unwaited), 5)
        # Lines of the pool, timers and chains without a thread: each is shown as the data has it.
        shown = self.texts(page, "#lists li")
        for line in page.evaluate(f"{APP}.data.lines"):
            self.assertIn(line, shown)
        self.assertTrue(any("58" in line for line in shown) and any("56" in line for line in shown), shown)
        page.click(*self.middle_of(page, "holder"))
        self.assertIn("Shop.PriceService.Load()", self.text(page, "#details"))

    def test_methods_that_await_each_other(self):
        page = self.open("cycle")
        [[kind, certain, steps, methods]] = self.verdicts(page)
        self.assertEqual((kind, certain, len(steps)), ("await_cycle", True, 1))
        self.assertEqual(methods, [["PriceService.Load", "0x10001"], ["Db.ReadRow", "0x10002"]])
        lines = self.texts(page, "#verdicts li")
        for (method, box), (following, _) in zip(methods, methods[1:] + methods[:1]):
            self.assertEqual(len([line for line in lines if line.startswith(f"{method} {box} ") and line.endswith(following)]), 1, lines)
        self.assertEqual(sorted(self.node_texts(page, ".ring")), ["Db.ReadRow", "PriceService.Load"])
        self.assertEqual(page.evaluate("document.querySelectorAll('#picture .edge.ring').length"), 2)
        edges = page.evaluate(f"{APP}.graph.edges.filter(e => !e.ring).map(e => [e.from.label, e.to.label])")
        self.assertEqual(edges, [["waiter", "OrderApi.GetOrder"], ["OrderApi.GetOrder", "PriceService.Load"]])
        page.click(*self.middle_of(page, "Db.ReadRow"))
        self.assertIn("PriceService.Load", self.text(page, "#details"))

    def test_what_runs(self):
        page = self.open("busy")
        self.assertTrue(page.evaluate(f"{APP}.data.busy.is_busy"))
        self.assertEqual(self.verdicts(page), [])
        self.assertEqual(self.cards(page)[0], [["busy"], []], "what runs is the answer")
        self.assertRegex(self.text(page, "#verdicts h2"), r"\b1\.9 .*\b92 %")
        self.assertIn("Bank.Transfer", self.text(page, "#verdicts pre"))
        self.assertFalse(page.evaluate("document.getElementById('nothing').hidden"))

    def test_nothing_at_all(self):
        page = self.open("none")
        self.assertEqual((self.verdicts(page), self.cards(page)), ([], [[["fine"], []]]))
        self.assertEqual(self.text(page, "#verdicts h2"), page.evaluate(f"{APP}.data.nothing"))

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
            self.assertEqual(status, 11, error)
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
