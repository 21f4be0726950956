/// The script of all pages. All pages work without it.
///
/// After a commit, the script loads the page again, and replaces the sections with the attribute `data-live` and an id.
enum Script {
    static let text = """
        "use strict";
        (() => {
          const root = document.documentElement;
          const state = document.querySelector("[data-state]");
          let shown = root.dataset.commit;
          let source = null, isLoading = false, isStale = false;

          // The controls of a section, each with a name that it also has after the replacement.
          function controls(section) {
            const counts = new Map();
            const all = section.querySelectorAll("a, button, input, select, textarea, details, [tabindex]");
            return [...all].map((node) => {
              const hasFixedValue = ["checkbox", "radio", "hidden"].includes(node.type);
              const own = node.id || [node.tagName, node.name, hasFixedValue ? node.value : "",
                node.getAttribute("href"), node.form?.getAttribute("action")].join("|");
              const count = counts.get(own) ?? 0;
              counts.set(own, count + 1);
              return [own + "#" + count, node];
            });
          }

          function replace(section, fresh) {
            const kept = new Map(controls(section).map(([name, node]) => [name, {
              open: node.tagName === "DETAILS" ? node.open : undefined,
              checked: node.checked !== node.defaultChecked ? node.checked : undefined,
              value: "defaultValue" in node && node.type !== "hidden" && node.value !== node.defaultValue
                ? node.value : node.tagName === "SELECT" ? node.value : undefined,
              isFocused: node === document.activeElement,
              start: node.selectionStart, end: node.selectionEnd,
              left: node.scrollLeft, top: node.scrollTop,
            }]));
            section.replaceChildren(...document.importNode(fresh, true).childNodes);
            for (const [name, node] of controls(section)) {
              const old = kept.get(name);
              if (!old) continue;
              if (old.open !== undefined) node.open = old.open;
              if (old.checked !== undefined) node.checked = old.checked;
              if (old.value !== undefined && node.type !== "checkbox" && node.type !== "radio") node.value = old.value;
              if (old.left || old.top) { node.scrollLeft = old.left; node.scrollTop = old.top; }
              if (old.isFocused) {
                node.focus({ preventScroll: true });
                if (typeof old.start === "number") {
                  // Some kinds of fields have no selection.
                  try { node.setSelectionRange(old.start, old.end); } catch { continue; }
                }
              }
            }
          }

          async function load() {
            if (isLoading) { isStale = true; return; }
            isLoading = true;
            try {
              const answer = await fetch(location.href, { headers: { accept: "text/html" } });
              if (answer.ok) {
                const page = new DOMParser().parseFromString(await answer.text(), "text/html");
                shown = page.documentElement.dataset.commit ?? shown;
                for (const section of document.querySelectorAll("main [data-live][id]")) {
                  const fresh = page.getElementById(section.id);
                  if (fresh && fresh.innerHTML !== section.innerHTML) replace(section, fresh);
                }
              } else if (answer.status === 401) {
                close();
              }
            } catch {
              // The connection is lost. The next event loads the page again.
            }
            // A busy store has many commits. Most of the time is left to other work.
            setTimeout(() => {
              isLoading = false;
              if (isStale) { isStale = false; load(); }
            }, 500);
          }

          function open() {
            if (source || !document.querySelector("main [data-live]")) return;
            source = new EventSource(root.dataset.base + "events");
            let isFirst = true;
            source.addEventListener("open", () => { isFirst = true; if (state) state.hidden = false; });
            source.addEventListener("error", () => { if (state) state.hidden = true; });
            source.addEventListener("commit", (event) => {
              if (!isFirst || event.data !== shown) load();
              isFirst = false;
            });
          }

          function close() {
            source?.close();
            source = null;
            if (state) state.hidden = true;
          }

          // A browser has few connections for each server, so hidden pages give theirs back.
          document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
          addEventListener("pagehide", close);
          addEventListener("pageshow", open);
          document.addEventListener("submit", (event) => {
            const question = event.target.dataset.question;
            if (question && !confirm(question)) event.preventDefault();
          });
        })();

        """
}
