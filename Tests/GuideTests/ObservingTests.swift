import Foundation
import Strata
import Testing

/// `Guides/Observing.md` lists the names of all spans and metrics, because dashboards rely on them.
@Suite("The page with the names of spans and metrics") struct ObservingTests {
    private static func page() throws -> String {
        try String(contentsOf: Repository.root.appending(path: "Guides/Observing.md"), encoding: .utf8)
    }

    /// The names in the first columns of the page's tables.
    private static func listed() throws -> Set<String> {
        var names: Set<String> = []
        for line in try page().split(separator: "\n") where line.hasPrefix("| `") {
            let column = line.split(separator: "|")[0]
            names.formUnion(column.matches(of: /`([^`]+)`/).map { String($0.1) })
        }
        return names
    }

    private static let names =
        SpanName.allCases.map(\.rawValue) + SpanKey.allCases.map(\.rawValue) + MetricName.allCases.map(\.rawValue)

    @Test("The page lists each span, attribute and metric of the code")
    func complete() throws {
        let missing = Set(Self.names).subtracting(try Self.listed())
        #expect(missing.isEmpty, "missing in Guides/Observing.md: \(missing.sorted())")
    }

    @Test("The page lists no other names")
    func current() throws {
        let unknown = try Self.listed().subtracting(Self.names)
        #expect(unknown.isEmpty, "not in the code any more: \(unknown.sorted())")
    }

    @Test("Labels of metrics and names of spans are listed in MetricName and SpanName")
    func named() throws {
        let use = /(?:Counter|Timer|Gauge|Meter|Recorder)\(label: "|startSpan\(\s*"|withSpan\(\s*"/
        let folder = Repository.root.appending(path: "Sources")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var count = 0
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            count += 1
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(text.firstMatch(of: use) == nil, "\(file.lastPathComponent) has a name that the lists lack")
        }
        #expect(count > 400)
    }
}
