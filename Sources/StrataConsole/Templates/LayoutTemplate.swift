import Strata

/// The values of the layout. The values of the page are in `content`.
struct LayoutValues: Sendable {
    let consoleTitle: String
    let title: String
    /// The relative address of the console's root.
    let base: String
    /// The number of the newest commit, from which the script knows whether the page is old.
    let commit: Int64
    /// The secret of forms; nil if the store may not be changed.
    let formToken: String?
    /// The person in whose name changes are made; nil if the store may not be changed.
    let person: String?
    let groups: [NavigationView]
    let notice: String?
    /// The name of the page's template.
    let pageTemplate: String
    let content: any Sendable
}

/// A part of the navigation with its links.
struct NavigationView: Sendable {
    struct Link: Sendable {
        let title: String
        let href: String
        let isCurrent: Bool
    }

    let name: String
    let links: [Link]

    /// The navigation for a page.
    ///
    /// - Parameter current: the path of the page; nil for none.
    static func all(current: String?, base: String) -> [NavigationView] {
        NavigationGroup.allCases.compactMap { group in
            let links = ConsolePages.all.filter { $0.group == group }.map { page in
                Link(
                    title: page.title,
                    href: base + page.path,
                    isCurrent: current?.hasSameBytes(as: page.path) ?? false
                )
            }
            return links.isEmpty ? nil : NavigationView(name: group.rawValue, links: links)
        }
    }
}

extension PageTemplate {
    static let layout = PageTemplate(
        "layout",
        """
        <!DOCTYPE html>
        <html lang="en" data-base="{{base}}" data-commit="{{commit}}">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>{{title}} – {{consoleTitle}}</title>
        <link rel="icon" href="{{base}}icon.svg">
        <link rel="stylesheet" href="{{base}}style.css">
        <script src="{{base}}script.js" defer></script>
        </head>
        <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
        <a class="brand" href="{{base}}">{{consoleTitle}}</a>
        <nav aria-label="Pages">
        {{#groups}}
        <div class="group"><span class="group-name" id="group-{{.name}}">{{.name}}</span>
        <ul aria-labelledby="group-{{.name}}">
        {{#.links}}
        <li><a href="{{.href}}"{{#.isCurrent}} aria-current="page"{{/.isCurrent}}>{{.title}}</a></li>
        {{/.links}}
        </ul>
        </div>
        {{/groups}}
        </nav>
        <p class="state"><span data-state hidden>live</span>{{#person}} <span>as {{.}}</span>{{/person}}</p>
        </header>
        <main id="main" tabindex="-1">
        <h1>{{title}}</h1>
        {{#notice}}
        <p class="notice" role="status">{{.}}</p>
        {{/notice}}
        {{#content}}
        {{>*pageTemplate}}
        {{/content}}
        </main>
        </body>
        </html>

        """
    )
}
