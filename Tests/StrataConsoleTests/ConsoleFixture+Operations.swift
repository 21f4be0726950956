import Foundation
import HummingbirdTesting
import Strata
import StrataPipeline

extension ConsoleFixture {
    /// A payload of another type.
    struct Parcel: OperationPayload {
        var number: Int
    }

    /// The ids of the queued operations, in ascending order.
    func ids() async throws -> [Int64] {
        try await stack.background { context in try context.ids(QueuedOperation.all).map(\.rawValue) }
    }

    /// The statuses of the queued operations, in the order of their ids.
    func statuses() async throws -> [OperationStatus] {
        try await stack.background { context in try context.column(QueuedOperation.all, \.status) }
    }

    /// Runs the operations of a pipeline in another stack, which all fail.
    func fail(_ name: PipelineName, recordsTransitions: Bool = false) async throws {
        let other = try await Self.open(folder)
        let pipeline = try await Pipeline.open(
            other,
            named: name,
            options: PipelineOptions(retry: .never, recordsTransitions: recordsTransitions)
        ) { (_: Attempt<Letter>) in throw CocoaError(.fileNoSuchFile) }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
        try await other.close()
    }
}

extension TestResponse {
    /// The number of operations in the title of the list.
    var operationCount: String? {
        text.firstMatch(of: /<h2 id="operations-title">([^<]*)<\/h2>/).map { String($0.1) }
    }

    /// The operations to which the page has links, in their order.
    var operationIDs: [Int64] { text.matches(of: /href="[.\/]+operation\?id=(\d+)"/).compactMap { Int64($0.1) } }

    /// The path of the link to the next page of a list.
    var next: String? { text.firstMatch(of: /href="([^"]*)" rel="next"/).map { Self.path(String($0.1)) } }

    /// The path of the link to the previous page of a list.
    var previous: String? { text.firstMatch(of: /href="([^"]*)" rel="prev"/).map { Self.path(String($0.1)) } }

    /// The path of the form for a change.
    var changePath: String? {
        text.firstMatch(of: /action="([.\/]+actions\/operations\/[^"]*)"/).map { Self.path(String($0.1)) }
    }

    /// The path to which the answer leads.
    var redirect: String? { headers[.location].map(Self.path) }

    /// The values of the form that confirms a change, as a browser sends them.
    var confirmation: String? {
        guard let token = formToken, let count = text.firstMatch(of: /name="count" value="(\d+)"/)?.1,
            let shown = text.firstMatch(of: /name="shown" value="(\d+)"/)?.1
        else { return nil }
        return "form-token=\(token)&count=\(count)&shown=\(shown)"
    }

    /// A path from the root, for a relative address in a page.
    private static func path(_ address: String) -> String {
        let plain = address.replacingOccurrences(of: "&amp;", with: "&")
        return "/" + String(plain.drop { $0 == "." || $0 == "/" })
    }
}
