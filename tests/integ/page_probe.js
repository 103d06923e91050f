"use strict";
/*
 * page_probe.js - a hand on the page of `gsb-trace timeline`: gsb_trace.sh puts it behind a copy of the page. It points,
 * turns the wheel, drags, presses keys and types as a user does, and leaves what it saw in an element for --dump-dom. It
 * knows the page's measures: 168 pixels of names, then time; 20 pixels a row.
 */
(() => {
  const seen = [], say = (key, value) => seen.push(key + "=" + value);
  const box = () => rows.getBoundingClientRect();
  const span = () => view.to - view.from;
  const at_x = ns => 168 + (ns - view.from) / span() * (rows.clientWidth - 168);
  const at_y = i => D.row[i] * 20 + 10 - scroll.scrollTop;
  const send = (type, x, y, more) => rows.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: box().left + x, clientY: box().top + y, pointerId: 1, ...more }));
  const wheel = (x, dy, shiftKey) => rows.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, deltaY: dy, shiftKey, clientX: box().left + x, clientY: box().top + 10 }));
  const key = (k, more) => rows.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, key: k, ...more }));
  const title = () => (document.querySelector("#details h2") || document.querySelector("#details")).textContent;
  const chosen_serial = () => chosen < 0 ? "none" : D.serial[chosen];
  const rgb = (canvas, x, y) => {
    const ratio = window.devicePixelRatio || 1;
    return [...canvas.getContext("2d").getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data.slice(0, 3)].join();
  };
  const near = (a, b) => a.split(",").every((v, k) => Math.abs(v - b.split(",")[k]) < 26);
  const swatch = name => {
    const b = [...document.querySelectorAll("#legend button")].find(x => x.textContent === name);
    return getComputedStyle(b.querySelector("i")).backgroundColor.match(/\d+/g).slice(0, 3).join();
  };
  try {
    draw();
    say("operations", N);
    say("legend", [...document.querySelectorAll("#legend button")].map(b => b.textContent).join(" "));
    say("dark", matchMedia("(prefers-color-scheme: dark)").matches);
    say("page_is_dark", rgb(rows, 2, 10).split(",").every(v => v < 80));

    /* the longest kernel: what is there, by its colour (where no letter is) and by its details */
    let i = -1;
    for (let k = 0; k < N; k++) if (D.kind[k] === 0 && (i < 0 || D.end[k] - D.start[k] > D.end[i] - D.start[i])) i = k;
    const middle = (D.start[i] + D.end[i]) / 2, owner = D.tenants[D.rows[D.row[i]].tenant].name;
    show(i); draw();
    send("pointermove", at_x(middle), at_y(i));
    say("pointed_at", title());
    say("pointed_serial", D.serial[i]);
    say("colour_is_the_tenants", near(rgb(rows, at_x(D.start[i]) + 2, at_y(i) - 7), swatch(owner)));
    send("pointermove", 5, 10);
    say("over_the_names", title().slice(0, 8));
    send("pointerdown", at_x(middle), at_y(i)); send("pointerup", at_x(middle), at_y(i));
    say("chosen", chosen_serial());

    /* the SMs in use are drawn where a kernel is, and nowhere above the axis' end */
    const used = occupancy(400).map(line => Math.max(...line)), sums = occupancy(400);
    let most = 0;
    for (let x = 0; x < 400; x++) most = Math.max(most, sums.reduce((s, line) => s + line[x], 0));
    say("tenants_with_sms", used.filter(v => v > 0).length);
    say("most_sms_ok", most > 0 && most <= D.n_sms + 1e-6);

    /* the wheel keeps what is under it */
    const before = span(), x = at_x(middle);
    wheel(x, -400); draw();
    say("wheel_zooms_in", span() < before * .5);
    say("wheel_keeps_its_place", Math.abs(at_x(middle) - x) < 1.5);
    set_view(D.span * .4, D.span * .6); draw(); /* where there is room on both sides */
    const from = view.from;
    send("pointerdown", 600, 10); send("pointermove", 500, 10); send("pointerup", 500, 10); draw();
    say("drag_moves", Math.abs((view.from - from) / span() * (rows.clientWidth - 168) - 100) < 1.5);
    key("Home"); draw();
    say("home_shows_all", Math.abs(span() - D.span * 1.03) < 2);
    say("status", document.getElementById("view").textContent);

    /* the keyboard alone */
    key("Escape");
    say("escape_chooses_none", chosen_serial());
    key("ArrowDown"); const first = chosen;
    key("ArrowRight");
    say("right_is_the_next", chosen === first + 1 || D.row[first + 1] !== D.row[first]);
    key("ArrowLeft");
    say("left_is_back", chosen === first);
    key("ArrowDown");
    say("down_is_a_row_below", D.row[chosen] > D.row[first] || D.rows.length === 1);
    const wide = span();
    key("+");
    say("plus_zooms", Math.abs(span() / wide - .6) < .01);

    /* finding */
    const input = document.getElementById("find"), word = window.probe_word || name_of(i);
    input.value = word; input.dispatchEvent(new Event("input", { bubbles: true }));
    say("found", document.getElementById("found").textContent);
    input.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, key: "Enter" }));
    say("found_first", title());
    say("found_is_in_view", D.end[chosen] >= view.from && D.start[chosen] <= view.to);
    input.value = "no such thing"; input.dispatchEvent(new Event("input", { bubbles: true }));
    say("found_nothing", document.getElementById("found").textContent);
    input.value = ""; input.dispatchEvent(new Event("input", { bubbles: true }));

    /* one tenant alone */
    document.querySelectorAll("#legend button")[0].click(); draw();
    say("pressed", document.querySelector("#legend button").getAttribute("aria-pressed"));
    document.querySelectorAll("#legend button")[0].click();

    /* a frame of everything */
    key("Home");
    const began = performance.now();
    for (let k = 0; k < 5; k++) draw();
    say("frame_ms", ((performance.now() - began) / 5).toFixed(1));
    say("end", "reached");
  } catch (e) {
    say("error", e.message);
  }
  const p = document.createElement("pre");
  p.id = "probe";
  p.textContent = "\n" + seen.join("\n") + "\n";
  document.body.append(p);
})();
