import Strata

/// The page that a person sees after the token was entered.
enum NextPage {
    /// The page that follows the token: that of the address with its query, or the one that the address names.
    static func following(_ target: ConsoleRoute.Target, _ query: ConsoleFields) -> String {
        guard case .page(let page) = target else { return "" }
        if page.path.utf8.isEmpty, let wanted = query.text("next") { return known(wanted) }
        return address(page.path, query)
    }

    /// The path of a known page with its query, so that no link of another site leads elsewhere.
    static func known(_ text: String) -> String {
        let parts = text.splitAtFirst("?") ?? (before: text, after: "")
        guard let page = ConsolePages.all.first(where: { $0.path.hasSameBytes(as: parts.before) }),
            let query = try? ConsoleFields(parsing: parts.after)
        else { return "" }
        return address(page.path, query)
    }

    /// A path with a query without the token; the path alone if a form could not contain the query.
    private static func address(_ path: String, _ query: ConsoleFields) -> String {
        let address = ConsoleLink.path(path, items: query.items(without: "token")) ?? path
        return address.utf8.count <= ConsoleFields.greatestValue ? address : path
    }
}
