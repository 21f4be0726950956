/// The style sheet of all pages.
///
/// The colours of texts have a contrast of at least 4.5 to their backgrounds, in both schemes.
enum StyleSheet {
    static let text = """
        :root {
          color-scheme: light dark;
          --page: #f6f7f9; --panel: #ffffff; --line: #d5d9e0; --text: #1c2330; --soft: #566070;
          --link: #1f5fa8; --good: #1a6b3c; --active: #1f5fa8; --warning: #8a5200; --bad: #b3261e;
          --good-back: #e3f3e9; --active-back: #e2edf9; --warning-back: #fbefd9; --bad-back: #fbe4e2;
          --idle-back: #eceff3;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #14181f; --panel: #1b212b; --line: #343d4b; --text: #e4e8ee; --soft: #a3adbb;
            --link: #8cbcf2; --good: #7fd3a0; --active: #8cbcf2; --warning: #f0bd6b; --bad: #ff9b92;
            --good-back: #173524; --active-back: #1a304a; --warning-back: #3d2d10; --bad-back: #48201d;
            --idle-back: #29313d;
          }
        }
        * { box-sizing: border-box; }
        html { font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        body { margin: 0; background: var(--page); color: var(--text); overflow-wrap: anywhere; }
        a { color: var(--link); text-underline-offset: 2px; }
        :focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
        main:focus { outline: none; }
        .skip { position: absolute; left: -9999px; }
        .skip:focus { left: 8px; top: 8px; z-index: 2; padding: 6px 10px; background: var(--panel); }
        .top {
          display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: baseline;
          /* The content begins where that of the page does, whose width is limited. */
          padding: 10px max(20px, calc(50% - 880px));
          background: var(--panel); border-bottom: 1px solid var(--line);
        }
        .brand { font-weight: 650; color: var(--text); text-decoration: none; }
        nav { display: flex; flex-wrap: wrap; gap: 4px 12px; }
        .top nav { flex: 1 1 0; min-width: min(600px, 100%); }
        .group { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 4px; }
        .group-name { color: var(--soft); font-size: 12px; }
        .group ul { display: flex; flex-wrap: wrap; gap: 2px; list-style: none; margin: 0; padding: 0; }
        .group a { display: inline-block; padding: 3px 6px; border-radius: 4px; text-decoration: none; }
        .group a:hover { background: var(--idle-back); }
        .group a[aria-current] { background: var(--active-back); color: var(--active); text-decoration: underline; }
        .state { margin: 0 0 0 auto; color: var(--soft); font-size: 12px; }
        .state [data-state]:not([hidden]) + span::before { content: "· "; }
        main { max-width: 1800px; margin: 0 auto; padding: 16px 20px 40px; }
        h1 { font-size: 20px; margin: 4px 0 14px; }
        h2 { font-size: 15px; margin: 0 0 8px; }
        section { margin: 0 0 22px; }
        section > * + :is(.table-box, .facts, .limits, .empty, .plain, pre, form, details),
          summary + pre, .empty + pre { margin-top: 8px; }
        .facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(220px, 100%), 1fr)); margin: 0;
          background: var(--panel); border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
        /* The borders at the right and lower ends lie below the border of the list. */
        .facts div { padding: 8px 12px; margin: 0 -1px -1px 0; border: solid var(--line); border-width: 0 1px 1px 0; }
        .facts dt { color: var(--soft); font-size: 12px; }
        .facts dd { margin: 0; }
        .totals { display: flex; flex-wrap: wrap; gap: 8px; list-style: none; margin: 0; padding: 0; }
        .totals li { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 8px 14px;
          min-width: 96px; }
        .total { display: inline-block; font-size: 20px; font-weight: 600; padding: 0 6px; border-radius: 4px;
          font-variant-numeric: tabular-nums; }
        .table-box { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
        th, td { padding: 6px 12px; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
        thead th { border-top: 0; color: var(--soft); font-size: 12px; font-weight: 600; white-space: nowrap; }
        tbody tr:hover { background: var(--idle-back); }
        td { max-width: 420px; overflow-wrap: break-word; }
        td.long { min-width: 180px; }
        td:has(> .note) { min-width: 140px; }
        time { white-space: nowrap; }
        .number { text-align: right; white-space: nowrap; }
        td form { display: inline; }
        td button { min-height: 0; padding: 1px 8px; margin: -2px 0; }
        td input[type="checkbox"] { vertical-align: middle; margin: 0; }
        .mark { display: inline-block; padding: 0 7px; border-radius: 9px; font-size: 13px; white-space: nowrap; }
        .mark-good { color: var(--good); background: var(--good-back); }
        .mark-active { color: var(--active); background: var(--active-back); }
        .mark-warning { color: var(--warning); background: var(--warning-back); }
        .mark-bad { color: var(--bad); background: var(--bad-back); }
        .mark-idle { color: var(--text); background: var(--idle-back); }
        .note, .empty { color: var(--soft); }
        .empty { background: var(--panel); border: 1px dashed var(--line); border-radius: 6px; padding: 14px;
          margin: 0; }
        .notice, .failure { padding: 10px 14px; border-radius: 6px; margin: 0 0 16px; }
        .notice { color: var(--good); background: var(--good-back); }
        .failure { color: var(--bad); background: var(--bad-back); }
        .pager { gap: 4px 14px; margin-top: 10px; color: var(--soft); }
        main > .pager { margin: 0 0 12px; }
        pre { overflow: auto; max-height: 70vh; margin: 0; padding: 12px; background: var(--panel);
          border: 1px solid var(--line); border-radius: 6px; font: 13px/1.5 ui-monospace, monospace; }
        code { font: 13px ui-monospace, monospace; }
        ::placeholder { color: var(--soft); opacity: 1; }
        button, input, select, textarea { font: inherit; color: inherit; background: var(--panel);
          border: 1px solid var(--soft); border-radius: 4px; padding: 3px 10px; max-width: 100%; }
        button, select, input:not([type="checkbox"]) { min-height: 30px; vertical-align: middle; }
        button { cursor: pointer; white-space: nowrap; }
        button:hover { background: var(--idle-back); }
        .fields label { display: block; color: var(--soft); font-size: 12px; }
        @media (max-width: 960px) {
          /* The navigation is one line that scrolls. The focus scrolls it too. */
          .top nav { order: 1; flex: 0 0 100%; flex-wrap: nowrap; overflow-x: auto; scrollbar-width: thin; }
          .top .group, .top .group ul { flex: none; flex-wrap: nowrap; }
          .top nav a { white-space: nowrap; }
          .top nav a:focus-visible { outline-offset: -2px; }
          .top nav a[aria-current] { scroll-initial-target: nearest; }
        }
        @media (max-width: 640px) {
          .top, main { padding-left: 12px; padding-right: 12px; }
          th, td { padding: 6px 8px; }
        }
        @media (prefers-reduced-motion: reduce) {
          * { animation: none !important; transition: none !important; scroll-behavior: auto !important; }
        }

        """
}
