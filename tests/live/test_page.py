"""The viewer page in Chromium without a window: pages of recordings of which it is known what they must show, made by
tests/web. Timings are printed; their limits are for a machine that does other work, too.

MIXSTACK_PICTURES=FOLDER keeps a picture of each page.
"""
import errno
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import browser
import mixstack_dump
import speedscope_page

READY = "document.documentElement.dataset.ready"
APP = "mixstackPage"


def maker():
    """tests/web/web_pages of the build that the command under test is of."""
    binary = mixstack_dump.binary()
    found = list(pathlib.Path(binary).resolve().parents[1].glob("**/web_pages")) if binary else []
    return next((path for path in found if path.is_file()), None)


class PageTest(unittest.TestCase):
    timeout = 120

    @classmethod
    def setUpClass(cls):
        if not browser.find():
            raise unittest.SkipTest("no Chromium: scripts/bootstrap installs it")
        if not maker():
            raise unittest.SkipTest("tests/web is not built")
        cls.folder = tempfile.TemporaryDirectory(prefix="page-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.chromium = browser.Browser()
        cls.addClassCleanup(cls.chromium.close)
        cls.written, cls.pages = {}, []

    def file(self, kind, ending="html"):
        name = f"{re.sub('[: ]', '-', kind)}.{ending}"
        if name not in self.written:
            path = pathlib.Path(self.folder.name) / name
            subprocess.run([maker(), kind, path], check=True, timeout=60, stdin=subprocess.DEVNULL)
            self.written[name] = path
        return self.written[name]

    def open(self, kind, address="", **options):
        page = self.chromium.open(self.file(kind).as_uri() + address, **{"width": 1300, "height": 850, **options})
        page.wait(READY)
        self.addCleanup(self.leave, page, f"{self.id().split('.')[-1]}-{re.sub('[: ]', '-', kind)}")
        return page

    def leave(self, page, name):
        """Whatever was done with a page: it complained of nothing, and asked the network for nothing but itself."""
        if folder := os.environ.get("MIXSTACK_PICTURES"):
            page.picture(pathlib.Path(folder) / f"{name}.png")
        page.evaluate("1")
        self.assertEqual(page.complaints, [])
        self.assertEqual(len([r for r in page.requests if not r.startswith("blob:")]), 1, page.requests)
        page.close()

    def boxes(self, page):
        """Share of all by name, of the boxes that are drawn."""
        return dict(page.evaluate(f"""(() => {{ const a = {APP}, list = [];
            for (const row of a.graph.rows) for (const n of row.nodes)
              if (n > 0) list.push([a.functions.names[a.tree.key(n)], a.tree.value(n) / a.weights.all]);
            return list; }})()"""))

    def point_of(self, page, name):
        """Where to click on the box of a function."""
        return page.evaluate(f"""(() => {{ const a = {APP}, g = a.graph, at = g.canvas.getBoundingClientRect();
            for (let r = 0; r < g.rows.length; r++) for (let i = 0; i < g.rows[r].nodes.length; i++) {{
              const n = g.rows[r].nodes[i];
              if (n > 0 && a.functions.names[a.tree.key(n)].includes({json.dumps(name)}))
                return [at.x + g.rows[r].x[i] + g.rows[r].w[i] / 2, at.y + g.rowTop(r) - g.scroller.scrollTop + 9];
            }} }})()""")

    def texts(self, page, selector):
        return page.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText)")


class Contents(PageTest):
    def test_split_and_account(self):
        page = self.open("small")
        boxes = self.boxes(page)
        self.assertAlmostEqual(boxes["Shop.Orders.Price(Order)"], 0.3)
        self.assertAlmostEqual(boxes["Shop.Orders.Sort(List<Order>)"], 0.15)
        self.assertAlmostEqual(boxes["crunch"], 0.05)
        account = page.evaluate("document.getElementById('account').innerText")
        for words in ("pid 4711", "10.0 s at 100 Hz wall", "2,000 samples", "7 lost (0.35 %)", "1 note"):
            self.assertIn(words, account)
        page.click_on("#about-button")
        about = page.evaluate("document.getElementById('dialog').innerText")
        self.assertRegex(page.evaluate("document.querySelector('#dialog [data-of=lost_in_queue]').innerText"), r"^7 ")
        self.assertIn("perf_event_paranoid is 3", about)
        page.press("Escape")
        self.assertFalse(page.evaluate("document.getElementById('dialog').open"))

    def test_search(self):
        page = self.open("small")
        page.press("/")
        page.type("orders.sort")
        page.wait("document.getElementById('matched').innerText === 'matched 15.0 %'")
        self.assertIn("q=orders.sort", page.wait("location.hash"))
        page.press("Escape")
        page.wait("document.getElementById('matched').innerText === ''")
        page.press("/")
        page.type("/Price|crunch/")
        page.wait("document.getElementById('matched').innerText === 'matched 35.0 %'")
        page.press("Escape")
        page.press("/")
        page.type("/(/")
        page.wait("document.getElementById('matched').innerText === 'no regular expression'")

    def test_zoom_by_click_and_keys(self):
        page = self.open("small")
        page.click(*self.point_of(page, "call_back"))
        self.assertEqual(self.texts(page, "#crumbs button"), ["all", "_start", "coreclr_execute_assembly", "Program.Main", "call_back"])
        self.assertAlmostEqual(page.evaluate(f"{APP}.graph.boxOf({APP}.graph.zoom).w"), page.evaluate(f"{APP}.graph.width"))
        page.press("ArrowUp")
        page.press("Enter")
        self.assertEqual(self.texts(page, "#crumbs button")[-1], "Orders.Price")
        page.press("-")
        self.assertEqual(self.texts(page, "#crumbs button")[-1], "call_back")
        page.press("Escape")
        self.assertEqual(self.texts(page, "#crumbs button"), ["all"])
        page.click(*self.point_of(page, "Orders.Price"))
        address = page.wait("location.hash.includes('zoom') && location.hash")
        again = self.open("small", address)
        self.assertEqual(self.texts(again, "#crumbs button")[-1], "Orders.Price")

    def test_threads_and_states(self):
        page = self.open("small")
        page.click_on("#threads-button")
        self.assertEqual([t.split()[0] for t in self.texts(page, ".thread .what")], ["Main", "Waiter"])
        page.evaluate("[...document.querySelectorAll('.thread button')][1].click()")
        self.assertEqual(page.evaluate(f"{APP}.weights.all"), 1000)
        self.assertEqual(page.evaluate("document.getElementById('threads-button').innerText"), "Waiter")
        self.assertNotIn("Shop.Orders.Price(Order)", self.boxes(page))
        page.evaluate("[...document.querySelectorAll('.thread-tools button')][0].click()")
        page.press("Escape")
        self.assertEqual(page.evaluate(f"{APP}.weights.all"), 2000)
        self.assertEqual([t.split("\n")[0].split(" ")[0] for t in self.texts(page, "#activities .chip")], ["running", "waiting"])
        page.evaluate("[...document.querySelectorAll('#activities .chip')][1].click()")
        self.assertAlmostEqual(self.boxes(page)["Shop.Orders.Price(Order)"], 0.6)
        page.evaluate("(gc => { gc.value = 'in'; gc.dispatchEvent(new Event('change')) })(document.getElementById('gc'))")
        self.assertEqual(page.evaluate(f"{APP}.weights.all"), 50)

    def test_kinds(self):
        page = self.open("small")
        kinds = [t.replace("\n", " ") for t in self.texts(page, "#legend .chip")]
        self.assertEqual([k.rsplit(" ", 2)[0] for k in kinds], ["program (managed)", ".NET libraries", "native", ".NET runtime", "kernel"])
        page.evaluate("[...document.querySelectorAll('#legend .chip')][2].click()")
        boxes = self.boxes(page)
        self.assertNotIn("call_back", boxes)
        self.assertAlmostEqual(boxes["Shop.Program.Main(string[])"], 0.5)
        self.assertEqual(page.evaluate(f"{APP}.weights.byFunction({APP}.forest).self[{APP}.functions.names.indexOf('Shop.Program.Main(string[])')]"), 100)

    def test_time_range(self):
        page = self.open("small")
        x, y, width = page.evaluate("(r => [r.x, r.y + 20, r.width])(document.getElementById('timeline').getBoundingClientRect())")
        page.drag(x + width * 0.5, y, x + width * 0.75)
        page.wait(f"{APP}.weights.all < 600")
        self.assertAlmostEqual(page.evaluate(f"{APP}.weights.all"), 500, delta=12)
        self.assertIn("5.0", page.evaluate("document.getElementById('range').innerText"))
        address = page.wait("location.hash.includes('range') && location.hash")
        self.assertAlmostEqual(self.open("small", address).evaluate(f"{APP}.weights.all"), 500, delta=12)
        page.click(x + 20, y)
        page.wait(f"{APP}.weights.all === 2000")
        page.evaluate("document.getElementById('timeline').focus()")
        page.press("ArrowRight")
        page.press("ArrowRight")
        page.wait(f"{APP}.state.range && {APP}.state.range[0] > 0")

    def test_callers_and_table(self):
        page = self.open("small")
        page.press("i")
        boxes = self.boxes(page)
        self.assertAlmostEqual(boxes["futex_wait_queue"], 0.5)
        page.press("i")
        rows = [r.split("\n") for r in self.texts(page, ".row")]
        self.assertEqual([r[0] for r in rows][:4], ["futex_wait_queue", "Orders.Price", "Orders.Sort", "crunch"])
        self.assertEqual(rows[1][-4:], ["30.0", "6.00 s", "30.0", "6.00 s"])
        page.evaluate("document.querySelector('[data-sort=total]').click()")
        self.assertEqual(self.texts(page, ".row")[0].split("\n")[0], "_start")
        page.evaluate("[...document.querySelectorAll('.row')].find(r => r.innerText.startsWith('Orders.Sort')).click()")
        self.assertIn("self 15.0 %, total 15.0 %", page.evaluate("document.getElementById('status').innerText"))
        page.evaluate("document.querySelector('#status button').click()")
        self.assertEqual(self.texts(page, "#crumbs button"), ["all", "Orders.Sort"])
        self.assertIn("call_back", self.boxes(page))
        page.press("t")
        page.press("t")
        self.assertEqual(page.evaluate("document.getElementById('main').dataset.part"), "graph")

    def test_difference(self):
        page = self.open("small:faster")
        f = "{0}.functions.names.findIndex(n => n.includes({1!r}))"
        def change(name):
            return page.evaluate(f"{APP}.table.value('selfChange', {f.format(APP, name)})")
        self.assertAlmostEqual(change("Orders.Price"), 0.075)
        self.assertAlmostEqual(change("Orders.Sort"), -0.075)
        def color(name):
            return page.evaluate(f"""(() => {{ for (const row of {APP}.graph.rows) for (const n of row.nodes)
            if (n > 0 && {APP}.functions.names[{APP}.tree.key(n)].includes({name!r})) return {APP}.fill(n, {APP}.tree.key(n)); }})()""")
        self.assertTrue(color("Orders.Price").startswith("hsl(6 "))
        self.assertTrue(color("Orders.Sort").startswith("hsl(214 "))
        self.assertFalse(color("crunch").startswith("hsl("))
        page.click_on("#before")
        self.assertAlmostEqual(self.boxes(page)["Shop.Orders.Price(Order)"], 0.3)
        self.assertTrue(color("Orders.Price").startswith("hsl(6 "))

    def made(self, *arguments):
        """What the command wrote, as a page or as text."""
        done = subprocess.run([mixstack_dump.binary(), *map(str, arguments)], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, check=True)
        return done.stdout

    def opened(self, *arguments):
        path = pathlib.Path(self.folder.name) / f"{self.id().split('.')[-1]}-{len(self.pages)}.html"
        self.made(*arguments, "-o", path)
        self.pages.append(path)
        page = self.chromium.open(path.as_uri(), width=1300, height=850)
        page.wait(READY)
        self.addCleanup(self.leave, page, path.stem)
        return page

    def changes(self, page):
        """Self in points by function, of those that changed."""
        return page.evaluate(f"""(() => {{ const a = {APP}, list = {{}};
            a.functions.names.forEach((n, f) => {{ const c = 100 * a.table.value('selfChange', f);
              if (Math.abs(c) >= 0.05) list[n] = Number(c.toFixed(1)); }});
            return list; }})()""")

    def changes_in_text(self, text):
        rows = text.split("in the function itself\n")[1].split("\n\n")[0].splitlines()[1:]
        return {row.split(None, 3)[3]: float(row.split(None, 3)[2]) for row in rows}

    def test_a_difference_counts_what_its_text_counts(self):
        before, after = self.file("small", "mxr"), self.file("faster", "mxr")
        for options in ((), ("--idle",), ("--exclude", "crunch"), ("--state", "waiting,running"), ("--managed-only",)):
            with self.subTest(options=options):
                text = self.changes_in_text(self.made("diff", before, after, *options))
                page = self.opened("diff", before, after, *options)
                self.assertEqual(self.changes(page), text)
                self.assertTrue(text)
        self.assertEqual(text["Shop.Orders.Price(Order)"], 15.0)

    def test_a_difference_to_folded_stacks_goes_by_name(self):
        before, after = self.file("small", "mxr"), self.file("faster", "mxr")
        folded = pathlib.Path(self.folder.name) / "faster.folded"
        self.made("convert", after, "-o", folded)
        text = self.made("diff", before, folded)
        self.assertEqual(self.changes_in_text(text), self.changes_in_text(self.made("diff", before, after)))
        page = self.opened("diff", before, folded)  # of wall time, and of stacks without a clock
        self.assertEqual(self.changes(page), self.changes_in_text(text))
        self.assertEqual(self.changes(self.opened("diff", folded, after)), {})

    def test_several_processes(self):
        path = self.file("several", "mxr")
        named = "worker (1), worker (2), worker (3) and 2 more"
        page = self.opened("convert", path)
        boxes = self.boxes(page)
        for pid in range(1, 6):
            self.assertAlmostEqual(boxes[f"worker ({pid})"], pid / 15)
        self.assertEqual(page.evaluate("document.title"), named)
        self.assertEqual(page.evaluate("document.getElementById('title').textContent"), named)
        self.assertEqual(json.loads(self.made("convert", path, "-f", "speedscope"))["name"], named)
        self.assertRegex(self.made("convert", path), r"\n  33\.3%    0\.0%  worker \(5\)\n  33\.3%    0\.0%    main\n")
        self.assertIn("worker (5)", self.made("convert", path, "-f", "svg"))
        self.assertIn("worker (5);main;Work() 50\n", self.made("convert", path, "-f", "folded"))

    def test_what_has_no_name_is_said(self):
        path = self.file("server", "mxr")
        done = subprocess.run([mixstack_dump.binary(), "convert", path], capture_output=True, text=True, timeout=60, check=True)
        [said] = mixstack_dump.messages(done.stderr)
        self.assertEqual((said["code"], said["exit_code"], said["subject"]), ("nameless", 0, str(path)))
        self.assertRegex(said["text"], r"^1 .* \d+ .* 12000 ")
        self.assertIn(f"'mixstack symbols status {path}'", said["text"])
        done = subprocess.run([mixstack_dump.binary(), "convert", "-q", path], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stderr, "")
        done = subprocess.run([mixstack_dump.binary(), "convert", self.file("small", "mxr")], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stderr, "")

    def test_a_page_begins_with_what_the_text_shows(self):
        page = self.opened("convert", self.file("small", "mxr"))
        self.assertEqual(page.evaluate(f"{APP}.weights.all"), 1000)
        self.assertAlmostEqual(self.boxes(page)["Shop.Orders.Price(Order)"], 0.6)
        self.assertEqual(self.texts(page, "#activities .chip")[1].split("\n")[0].split(" ")[0], "waiting")
        page.evaluate("[...document.querySelectorAll('#activities .chip')][1].click()")
        self.assertEqual(page.evaluate(f"{APP}.weights.all"), 2000)
        address = page.wait("location.hash.includes('states') && location.href")
        again = self.chromium.open(address, width=1300, height=850)
        again.wait(READY)
        self.assertEqual(again.evaluate(f"{APP}.weights.all"), 2000)
        again.close()
        page = self.opened("convert", self.file("small", "mxr"), "--idle", "--inverted")
        self.assertEqual(page.evaluate(f"{APP}.weights.all"), 2000)
        self.assertAlmostEqual(self.boxes(page)["futex_wait_queue"], 0.5)

    def folded(self, text, name="from elsewhere.folded"):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text)
        return path

    def is_seen(self, page, selector):
        return page.evaluate(f"document.querySelector({json.dumps(selector)}).offsetParent !== null")

    def test_folded_stacks_have_a_name_and_neither_times_nor_states(self):
        page = self.opened("convert", self.folded("main;a 60\nmain;b 40\n"))
        self.assertEqual(page.evaluate("document.title"), "from elsewhere.folded")
        self.assertEqual(page.evaluate("document.getElementById('title').textContent"), "from elsewhere.folded")
        self.assertEqual(page.evaluate("document.getElementById('account').textContent"), "100 samples \u00b7 1 note")
        for part in ("#time", "#states", "#threads-button"):
            self.assertFalse(self.is_seen(page, part), part)
        self.assertEqual(self.texts(page, "#legend .chip"), [])
        self.assertNotIn("timeline", page.evaluate("document.getElementById('status').innerText"))
        self.assertAlmostEqual(self.boxes(page)["b"], 0.4)
        page.click_on("#about-button")
        about = page.evaluate("document.getElementById('dialog').innerText")
        self.assertIn("from elsewhere.folded", about)
        for part in ("[data-of=duration_ns]", "[data-of=holds]"):
            self.assertFalse(page.evaluate(f"Boolean(document.querySelector('#dialog ' + {json.dumps(part)}))"), part)
        self.assertEqual(page.evaluate("[...document.querySelectorAll('#dialog [data-pid]')].map(e => e.dataset.pid)"), ["0"])
        page.press("Escape")
        page = self.opened("convert", self.file("small", "mxr"))
        for part in ("#time", "#states", "#threads-button"):
            self.assertTrue(self.is_seen(page, part), part)

    def test_counts_that_are_divided_are_said(self):
        path = self.folded("a 5000000000000\nb 1\n", "nanoseconds.folded")
        command = [mixstack_dump.binary(), "convert", path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        [said] = mixstack_dump.messages(done.stderr)
        self.assertEqual((said["code"], said["exit_code"], said["subject"]), ("changed_by_reading", 0, str(path)))
        self.assertRegex(said["text"], r" 10000\b.* 32 .*: 1 line$")
        self.assertIn("# " + said["text"].removeprefix(f"{path}: ") + "\n", done.stdout)
        done = subprocess.run([*command, "--quiet"], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stderr, "")

    def test_the_account_is_never_cut_and_begins_with_what_counts(self):
        for width in (1280, 700, 390):
            page = self.open("small", width=width, height=800)
            begin = page.evaluate("document.getElementById('account').innerText").split(" \u00b7 ")[:2]
            self.assertEqual(begin, ["2,000 samples", "7 lost (0.35 %)"])
            longer = "element('span', {}, ' \u00b7 ' + 'BPF iterator and perf events '.repeat(12))"
            cut = page.evaluate(f"""(a => {{ a.append({longer}); const at = a.getBoundingClientRect(), last = a.lastChild.getBoundingClientRect();
                return [a.scrollWidth - a.clientWidth, a.scrollHeight - a.clientHeight, last.right > at.right, last.bottom > at.bottom + 1,
                        document.documentElement.scrollWidth]; }})(document.getElementById('account'))""")
            self.assertEqual(cut, [0, 0, False, False, width])
            notes = page.evaluate("[...document.querySelectorAll('#account .warn')].pop().title")
            self.assertIn("perf_event_paranoid is 3", notes)

    def test_themes_and_sizes(self):
        for dark in (False, True):
            for width, height in ((1400, 900), (390, 800)):
                page = self.open("server", dark=dark, width=width, height=height)
                self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "dark" if dark else "light")
                self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                self.assertGreater(page.evaluate(f"{APP}.graph.height"), 250)
        page.press("d")
        self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "light")
        page.press("?")
        self.assertIn("Enter", page.evaluate("document.querySelector('#dialog [data-part=keys]').innerText"))


class Hostile(PageTest):
    def test_names_are_only_text(self):
        page = self.open("hostile", "#callers=1&zoom=99.x.-1&range=5-1&q=%00&threads=%zz&hide=__proto__")
        self.assertNotEqual(page.evaluate("document.title"), "owned")
        self.assertEqual(page.evaluate("[document.images.length, document.querySelectorAll('svg,b script').length, document.scripts.length]"), [0, 0, 1])
        text = page.evaluate("document.body.innerText")
        self.assertIn("</script>", text)
        self.assertNotRegex(text, "[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]")
        page.press("Escape")
        for key in "iftt":
            page.press(key)
        page.mouse("mouseMoved", 300, 500)
        page.evaluate(f"{APP}.graph.rows.length")

    def test_policy_lets_nothing_else_run(self):
        page = self.open("small")
        page.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: 'document.title = 1'}))")
        self.assertNotEqual(page.evaluate("document.title"), "1")
        with self.assertRaises(browser.Failure):
            page.evaluate("fetch('https://example.invalid/')")
        self.assertTrue(any("Content Security Policy" in c for c in page.complaints), page.complaints)
        page.complaints.clear()

    def test_no_samples(self):
        page = self.open("empty")
        self.assertIn("No samples", page.evaluate("document.getElementById('nothing').innerText"))

    def test_pictures_are_xml(self):
        for kind in ("small", "hostile", "server", "empty"):
            root = xml.etree.ElementTree.parse(self.file(kind, "svg")).getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertEqual([e.tag for e in root.iter() if e.tag.endswith("script")], [])


class Speed(PageTest):
    @staticmethod
    def spent(page):
        """Milliseconds of processor time of the page's main thread."""
        metrics = page.call("Performance.getMetrics")["metrics"]
        return 1000 * next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    def test_100_000_stacks(self):
        size = self.file("large").stat().st_size
        self.assertGreater(size, 5_000_000)
        page = self.chromium.open("about:blank", width=1300, height=850)
        page.call("Performance.enable", {"timeDomain": "threadTicks"})  # processor time: other work does not count
        begin = self.spent(page)
        page.requests.clear()
        page.go(self.file("large").as_uri())
        page.wait(READY)
        page.evaluate("new Promise(requestAnimationFrame)")
        spent = self.spent(page) - begin
        self.addCleanup(self.leave, page, "large")
        stacks = page.evaluate(f"new Set({APP}.recordings[0].sample_stack).size")
        self.assertGreater(stacks, 100_000)
        opened = page.evaluate("performance.timing.domComplete - performance.timing.navigationStart")
        figures = {}
        def timed(what, action):
            begin = self.spent(page)
            page.evaluate(f"({action}, new Promise(requestAnimationFrame))")
            figures[what] = self.spent(page) - begin
        timed("zoom in", f"{APP}.zoomTo({APP}.graph.rows[Math.min(9, {APP}.graph.rows.length - 1)].nodes[0])")
        timed("zoom out", f"{APP}.zoomTo(0)")
        timed("search", f"{APP}.searchFor('Check')")
        timed("no search", f"{APP}.searchFor('')")
        timed("time range", f"({APP}.state.range = [500, 1500], {APP}.weigh())")
        timed("callers", f"{APP}.invert()")
        print(f"       {size / 1e6:.1f} MB, {stacks} stacks: open {opened} ms ({spent:.0f} ms of processor time), " + ", ".join(f"{k} {v:.0f} ms" for k, v in figures.items()))
        self.assertLess(spent, 4000)
        for what in ("zoom in", "zoom out", "search"):
            self.assertLess(figures[what], 250, what)


class Served(PageTest):
    """`mixstack view`: the page from a loopback port, with newer recordings as they come."""

    def serve(self, path):
        command = subprocess.Popen([mixstack_dump.binary(), "view", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.end, command)
        return command, command.stdout.readline().strip()

    @staticmethod
    def end(command):
        command.kill()
        command.wait()
        command.stdout.close()

    def write(self, path, text):
        """At once, as a recorder does that keeps a file up to date."""
        new = path.with_suffix(".new")
        new.write_text(text)
        new.replace(path)

    def test_newer_recordings_keep_what_is_looked_at(self):
        path = pathlib.Path(self.folder.name) / "served.folded"
        self.write(path, "main;work;inner 60\nmain;rest 40\n")
        command, address = self.serve(path)
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/[0-9a-f]{32}/$")
        page = self.chromium.open(address, width=1000, height=700)
        page.wait(READY)
        self.assertAlmostEqual(self.boxes(page)["work"], 0.6)
        page.wait("document.getElementById('live').innerText.startsWith('live')")
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.click(*self.point_of(page, "work"))
        self.assertEqual(self.texts(page, "#crumbs button"), ["all", "main", "work"])
        page.press("/")
        page.type("inner")
        page.wait("document.getElementById('matched').innerText === 'matched 60.0 %'")
        self.write(path, "main;new 100\nmain;work;inner 60\nmain;rest 40\n")
        page.wait("document.getElementById('matched').innerText === 'matched 30.0 %'")
        self.assertEqual(self.texts(page, "#crumbs button"), ["all", "main", "work"])
        self.assertEqual(page.evaluate("document.getElementById('search').value"), "inner")
        base = address.rsplit("/", 2)[0]
        self.assertEqual({r for r in page.requests if not r.startswith(base)}, set())
        self.assertEqual([c for c in page.complaints if "favicon" not in c and "404" not in c], [])
        page.close()
        command.terminate()
        self.assertEqual(command.wait(10), 0)

    def test_refusals(self):
        done = subprocess.run([mixstack_dump.binary(), "view", "/does/not/exist"], capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        path = pathlib.Path(self.folder.name) / "one.folded"
        path.write_text("a 1\n")
        _, address = self.serve(path)
        port = address.split(":")[2].split("/")[0]
        done = subprocess.run([mixstack_dump.binary(), "view", "--port", port, path], capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(done.returncode, 9)
        self.assertEqual([(m["code"], m["os_error"]) for m in mixstack_dump.messages(done.stderr)], [("not_served", errno.EADDRINUSE)])


class Speedscope(PageTest):
    def test_its_page_opens_what_it_should(self):
        folder = speedscope_page.folder()
        if not folder:
            self.skipTest("no npm, or it cannot be reached")
        path = pathlib.Path(self.folder.name) / "known.speedscope.json"
        path.write_text(json.dumps({
            "$schema": "https://www.speedscope.app/file-format-schema.json", "name": "known", "activeProfileIndex": 0,
            "shared": {"frames": [{"name": "known_outer"}, {"name": "known_inner"}]},
            "profiles": [{"type": "sampled", "name": "Main", "unit": "none", "startValue": 0, "endValue": 3,
                          "samples": [[0, 1], [0]], "weights": [2, 1]}]}))
        speedscope_page.check(self.chromium, folder, path, ["known_outer", "known_inner"])
        path.write_text('{"profiles": "none"}')
        with self.assertRaises(browser.Failure):
            speedscope_page.check(self.chromium, folder, path, ["known_outer"], seconds=3)


if __name__ == "__main__":
    unittest.main()
