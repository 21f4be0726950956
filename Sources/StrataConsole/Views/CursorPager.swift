import Strata

/// The links of a list whose pages begin after an object. So the pages stay right while objects come and go.
///
/// The partial `cursor-pager` shows them.
struct CursorPager: Sendable {
    /// In the order in which they are shown.
    let links: [TitledLink]
    let isNeeded: Bool

    /// - Parameters:
    ///   - first: the address of the first page; nil on the first page itself.
    ///   - next: the address of the next page; nil on the last page.
    init(first: String?, next: String?, firstTitle: String = "First", nextTitle: String = "Next") {
        links = [TitledLink(firstTitle, first), TitledLink(nextTitle, next)].compactMap { $0 }
        isNeeded = !links.isEmpty
    }
}

/// A link with its words.
struct TitledLink: Sendable {
    let title: String
    let href: String

    /// - Returns: nil without an address.
    init?(_ title: String, _ href: String?) {
        guard let href else { return nil }
        (self.title, self.href) = (ViewText.line(title), href)
    }
}
