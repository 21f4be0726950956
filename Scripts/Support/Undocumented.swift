import Foundation

// Prints each public symbol without a documentation comment, with its file and line, and each top-level symbol without
// a topic in the documentation catalogue of its module. Reads the symbol graphs of a folder, and ends with status 1 if
// there is such a symbol.
//
// Usage: undocumented ROOT FOLDER MODULE…

struct Graph: Decodable {
    struct Symbol: Decodable {
        struct Identifier: Decodable { let precise: String }
        struct Kind: Decodable { let identifier: String }
        struct DocComment: Decodable {
            struct Line: Decodable { let text: String }
            let lines: [Line]
        }
        struct Location: Decodable {
            struct Position: Decodable { let line: Int }
            let uri: String
            let position: Position
        }

        let identifier: Identifier
        let kind: Kind
        let pathComponents: [String]
        let docComment: DocComment?
        let location: Location?

        var isDocumented: Bool {
            docComment?.lines.contains { $0.text.contains { !$0.isWhitespace } } == true
        }

        /// What generated code uses is no API: names that begin with an underscore, and what is inside of them.
        var isPlumbing: Bool { pathComponents.contains { $0.hasPrefix("_") } }
    }

    struct Relationship: Decodable {
        struct Origin: Decodable { let identifier: String }
        let source: String
        let sourceOrigin: Origin?
    }

    let symbols: [Symbol]
    let relationships: [Relationship]
}

struct Finding: Hashable {
    let file: String
    let line: Int
    let name: String
}

// The lines of files that were asked for. The program has one thread.
nonisolated(unsafe) var lines: [String: [String]] = [:]

/// Whether a macro has made what is said to stand in a line: members that `@Model` adds stand where that does.
func isMadeByMacro(_ line: Int, of file: String) -> Bool {
    if lines[file] == nil {
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        lines[file] = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    }
    guard let all = lines[file], all.indices.contains(line) else { return false }
    return all[line].hasPrefix("@Model")
}

func findings(in graphs: [Graph], root: String) -> Set<Finding> {
    let own = Set(graphs.flatMap { $0.symbols.map(\.identifier.precise) })
    // A witness of a requirement that somebody else declares, `==` for instance, is documented there.
    let witnesses = Set(
        graphs.flatMap(\.relationships).filter { $0.sourceOrigin.map { !own.contains($0.identifier) } ?? false }
            .map(\.source)
    )
    var result: Set<Finding> = []
    for symbol in graphs.flatMap(\.symbols)
    where !symbol.isDocumented && !symbol.isPlumbing && !witnesses.contains(symbol.identifier.precise)
        && symbol.kind.identifier != "swift.extension"
    {
        // Without a place in the source it was made by the compiler or by a macro.
        guard let location = symbol.location, let url = URL(string: location.uri), url.path.hasPrefix(root),
            !isMadeByMacro(location.position.line, of: url.path)
        else { continue }
        result.insert(
            Finding(
                file: String(url.path.dropFirst(root.count)),
                line: location.position.line + 1,
                name: symbol.pathComponents.joined(separator: ".")
            )
        )
    }
    return result
}

/// The top-level symbols of a module that the page of its documentation catalogue does not list under a topic.
func namesWithoutTopic(in graph: Graph, page: String) throws -> [String] {
    let text = try String(contentsOfFile: page, encoding: .utf8)
    let topics = text.split(separator: "\n").drop { $0 != "## Topics" }
    let names = graph.symbols.filter { $0.pathComponents.count == 1 && !$0.isPlumbing }.map { $0.pathComponents[0] }
    return names.filter { name in !topics.contains { $0 == "- ``\(name)``" } }.sorted()
}

let arguments = CommandLine.arguments.dropFirst()
guard let root = arguments.first.map({ $0.hasSuffix("/") ? $0 : $0 + "/" }), let folder = arguments.dropFirst().first
else { fatalError("usage: undocumented ROOT FOLDER MODULE…") }

var all: Set<Finding> = []
var symbolCount = 0
var withoutTopic = 0
for module in arguments.dropFirst(2) {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        .filter { $0 == "\(module).symbols.json" || ($0.hasPrefix("\(module)@") && $0.hasSuffix(".symbols.json")) }
    let graphs = try names.map {
        try JSONDecoder().decode(Graph.self, from: Data(contentsOf: URL(fileURLWithPath: "\(folder)/\($0)")))
    }
    symbolCount += graphs.reduce(0) { $0 + $1.symbols.count }
    all.formUnion(findings(in: graphs, root: root))

    let page = "Sources/\(module)/\(module).docc/\(module).md"
    for (name, graph) in zip(names, graphs) where name == "\(module).symbols.json" {
        for symbol in try namesWithoutTopic(in: graph, page: root + page) {
            print("\(page): \(symbol) has no topic")
            withoutTopic += 1
        }
    }
}

for finding in all.sorted(by: { ($0.file, $0.line, $0.name) < ($1.file, $1.line, $1.name) }) {
    print("\(finding.file):\(finding.line): \(finding.name) has no documentation comment")
}
// No symbols at all would mean that nothing was looked at.
guard symbolCount > 0 else {
    print("no symbols were found in \(folder)")
    exit(1)
}
print("\(symbolCount) public symbols: \(all.count) without a documentation comment, \(withoutTopic) without a topic")
exit(all.isEmpty && withoutTopic == 0 ? 0 : 1)
