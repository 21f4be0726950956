extension StyleSheet {
    /// The styles of the pages of operations.
    static let operations = """
        .filters { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: end; margin: 0 0 18px; }
        .filters p { margin: 0; }
        .fields input:not([type="checkbox"]), .actions input { width: 180px; }
        .changes, .actions { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; margin: 10px 0; }
        .changes span { color: var(--soft); }
        .changes a[aria-current] { font-weight: 650; text-decoration: none; color: var(--text); }
        .actions form { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; }
        @media (max-width: 640px) {
          .filters p { flex: 1 1 150px; }
          .filters p > input:not([type="checkbox"]), .filters select { width: 100%; }
        }
        .fields .check label { display: inline; font-size: inherit; }
        .plain { margin: 0; padding-left: 18px; }
        .plain:empty, .tags:empty, .timeline:empty { display: none; }
        .tags { display: flex; flex-wrap: wrap; gap: 6px; list-style: none; margin: 0; padding: 0; }
        .tags li { padding: 1px 9px; border-radius: 9px; background: var(--idle-back); }
        .tags + .empty { margin-top: 0; }
        .timeline { list-style: none; margin: 0; padding: 0 0 0 14px; border-left: 2px solid var(--line); }
        .timeline li { padding: 4px 0; }
        .timeline p { margin: 2px 0; }
        .graph { overflow: auto; max-height: 75vh; background: var(--panel); border: 1px solid var(--line);
          border-radius: 6px; }
        .graph svg { display: block; }
        .graph text { font-size: 13px; fill: var(--text); }
        .graph .second { font-size: 12px; fill: var(--soft); }
        .graph .line { fill: none; stroke: var(--soft); stroke-width: 1.5; }
        .graph .line-implied { stroke-dasharray: 5 4; }
        .graph .arrow { fill: var(--soft); }
        .box rect { stroke: var(--line); stroke-width: 1; fill: var(--idle-back); }
        .box-good rect { fill: var(--good-back); stroke: var(--good); }
        .box-active rect { fill: var(--active-back); stroke: var(--active); }
        .box-warning rect { fill: var(--warning-back); stroke: var(--warning); }
        .box-bad rect { fill: var(--bad-back); stroke: var(--bad); }
        .box-centre rect { stroke: var(--text); stroke-width: 2.5; }

        """
}
