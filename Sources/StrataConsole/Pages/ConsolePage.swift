import Strata

/// A page of the console.
///
/// A page is one type in one file. It reads values with ``ConsoleRequest/read(_:)``, and its template shows them. List
/// the page in ``ConsolePages/all``.
protocol ConsolePage: Sendable {
    /// The path below the console, without slashes at its ends, such as `pipelines`. It is constant: ids and names are
    /// values of the query.
    var path: String { get }
    var title: String { get }
    /// The part of the navigation that has a link to the page; nil for a page that other pages link to.
    var group: NavigationGroup? { get }
    /// Without these models, the console shows an explanation instead of the page.
    var needs: StoreNeeds { get }
    var template: PageTemplate { get }
    /// The name that may have several values in the query of the address; nil by default. The console refuses other
    /// repeated names.
    var repeatedName: String? { get }

    /// The values of the template.
    ///
    /// - Throws: ``ConsoleError``, or an error of a product, which becomes a page with the right status.
    func content(_ request: ConsoleRequest) async throws -> PageContent
}

extension ConsolePage {
    var repeatedName: String? { nil }
}

/// A part of the navigation.
enum NavigationGroup: String, Sendable, CaseIterable {
    case store = "Store"
    case queues = "Queues"
    case accounts = "Accounts"
}

/// What a page shows.
struct PageContent: Sendable {
    /// The title, if it is not that of the page.
    var title: String?
    /// A struct whose properties the template names.
    let values: any Sendable

    init(title: String? = nil, _ values: any Sendable) { (self.title, self.values) = (title, values) }
}

/// The pages of the console, in the order of the navigation.
enum ConsolePages {
    static let all: [any ConsolePage] = [
        OverviewPage(), StorePage(), TablePage(), ObjectPage(), CommitsPage(), CommitPage(), StatementsPage(),
        PipelinesPage(), PipelinePage(),
        OperationsPage(), OperationPage(), OperationChangePage(), DependenciesPage(),
        SchedulesPage(), WorkersPage(),
        AccountsPage(), TreePage(), TransfersPage(), ConflictsPage(),
    ]
}
