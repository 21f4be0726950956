import Foundation

// Prints `file:line: name` for each public symbol without a documentation comment, from the symbol graphs of a folder,
// and ends with status 1 if there is any.
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

let arguments = CommandLine.arguments.dropFirst()
guard let root = arguments.first.map({ $0.hasSuffix("/") ? $0 : $0 + "/" }), let folder = arguments.dropFirst().first
else { fatalError("usage: undocumented ROOT FOLDER MODULE…") }

var all: Set<Finding> = []
var symbolCount = 0
for module in arguments.dropFirst(2) {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        .filter { $0 == "\(module).symbols.json" || ($0.hasPrefix("\(module)@") && $0.hasSuffix(".symbols.json")) }
    let graphs = try names.map {
        try JSONDecoder().decode(Graph.self, from: Data(contentsOf: URL(fileURLWithPath: "\(folder)/\($0)")))
    }
    symbolCount += graphs.reduce(0) { $0 + $1.symbols.count }
    all.formUnion(findings(in: graphs, root: root))
}

for finding in all.sorted(by: { ($0.file, $0.line, $0.name) < ($1.file, $1.line, $1.name) }) {
    print("\(finding.file):\(finding.line): \(finding.name) has no documentation comment")
}
// No symbols at all would mean that nothing was looked at.
guard symbolCount > 0 else {
    print("no symbols were found in \(folder)")
    exit(1)
}
print("\(symbolCount) public symbols, \(all.count) without a documentation comment")
exit(all.isEmpty ? 0 : 1)
