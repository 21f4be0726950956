import Foundation
import Testing

/// Names, keys and paths are compared, hashed and split by the bytes of their UTF-8, with `UTF8Text` and related
/// functions. These tests search the sources for code that compares by characters instead. `SourceTests+Layers.swift`
/// checks the layers of `Sources/Strata`.
@Suite("Rules for the source code") struct SourceTests {
    private static let folders = [
        "Sources/Strata", "Sources/StrataPipeline", "Sources/StrataReachability", "Sources/StrataRemotes",
        "Sources/StrataCloud", "Sources/StrataTesting", "Sources/StrataHTTP", "Sources/StrataPostgres",
        "Sources/StrataInspection", "Sources/StrataConsole", "Sources/StrataTool", "Examples/mirror",
    ]

    /// A use of `String` that compares characters, and the code to write instead.
    private struct Rule {
        let regex: Regex<AnyRegexOutput>
        let remedy: String

        init(_ pattern: String, _ remedy: String) throws {
            regex = try Regex(pattern)
            self.remedy = remedy
        }
    }

    private static func rules() throws -> [Rule] {
        [
            try Rule(#"\[String ?: |Dictionary<String|Set<String>"#, "use UTF8Text as the key"),
            try Rule(#"\.split\(separator: "|\.split\(whereSeparator|components\(separatedBy"#, "use split(atBytes:)"),
            try Rule(#"\.hasPrefix\(|\.hasSuffix\("#, "use hasBytePrefix(_:) and hasByteSuffix(_:)"),
            try Rule(#"\.(first|last)Index\(of: ""#, "use splitAtFirst(_:) and splitAtLast(_:)"),
            try Rule(#"\.(range|firstRange)\(of: "[^"]*"\)"#, "search in the UTF-8"),
            try Rule(#"\.contains\("[^a-zA-Z"\\]*"\)"#, "use containsByte(of:)"),
            // With optimisation, Swift 6.3 passes no type for such a value, and the process crashes.
            try Rule(#"@TaskLocal .*->"#, "keep the function in a struct"),
            // Each access wraps the function once more, so that a call takes ever more time and stack.
            try Rule(#"Mutex<.*->"#, "keep the function in a struct"),
        ]
    }

    /// Lines that may break a rule: the end or a part of the file's path, a part of the line, and the reason.
    private static let exceptions: [(file: String, line: String, reason: String)] = [
        ("Strata/Store/Migration/", "String", "names of tables and columns, which come from source code"),
        ("Strata/Modelling/Schema/", "String", "names of tables and columns"),
        ("Strata/Querying/SQL/CompiledQuery.swift", "tables: Set<String>", "names of tables"),
        ("Strata/Querying/SQL/SQLScope.swift", "tables: Set<String>", "names of tables"),
        ("Strata/Store/ReadTables.swift", "entities: [String: Int]", "names of tables"),
        ("Strata/Store/StoreState.swift", "tables: Set<String>", "names of tables"),
        ("Strata/Store/History/CommitChanges.swift", "tables: [String: TableChanges]", "names of tables"),
        ("Strata/Store/History/ChangeSet.swift", "Set<String>", "names of columns"),
        ("Strata/Contexts/Cursors/RowStream.swift", "tables: Set<String>", "names of tables"),
        ("Contexts/Objects/ObjectContext+PendingChanges.swift", "[String: ChangedValue]", "names of columns"),
        ("Strata/Saving/Batch/BatchJob.swift", "tables: Set<String>", "names of tables"),
        ("Strata/Saving/CommitHooks/Store+Engines.swift", "tables: Set<String>", "names of tables"),
        ("Strata/Stack/JSONLines/LineDate.swift", "seconds.description.split", "digits"),
        ("Strata/Basics/Values/JSONText.swift", "seen: Set<String>", "keys that the decoder takes for one are one"),
        ("Search.swift", "split(whereSeparator: \\.isWhitespace)", "the words that a person looks for"),
        ("StrataCloud/Tree/ShareList.swift", "String", "letters, and ids that a server gives; isSame compares bytes"),
        ("StrataCloud/Download/ContentHeader.swift", "application: [String: String]", "the application's dictionary"),
        ("Encryption/EncryptedHeader.swift", "application: [String: String]", "the application's dictionary"),
        (".swift", ".unicodeScalars.firstIndex(of: ", "Unicode scalars, not characters"),
        (".swift", "nvironment: [String: String]", "variables of the environment"),
        ("StrataHTTP/HTTP/XMLNode.swift", "attributes: [String: String]", "a method of a protocol of Foundation"),
        ("MirrorKit/Options/MirrorOptions.swift", "[String: String]", "variables of the environment"),
    ]

    private struct Line: Hashable {
        let file: String
        let number: Int
        let text: String
    }

    private static func lines() throws -> [Line] {
        try folders.flatMap { folder in
            try sources(of: folder).sorted { $0.key < $1.key }.flatMap { path, text in
                text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { index, line in
                    Line(file: "/\(folder)/\(path)", number: index + 1, text: String(line))
                }
            }
        }
    }

    /// The fault of a line, or nil if the line is correct.
    private static func fault(_ line: Line, _ rules: [Rule]) throws -> String? {
        let code = line.text.trimmingCharacters(in: .whitespaces)
        guard !code.hasPrefix("//"), let rule = try rules.first(where: { try $0.regex.firstMatch(in: code) != nil })
        else {
            return nil
        }
        let isExcepted = exceptions.contains { line.file.contains($0.file) && code.contains($0.line) }
        return isExcepted ? nil : "\(line.file):\(line.number): \(code)\n\(rule.remedy)"
    }

    @Test("Texts from applications, stores, files and servers are compared and split by bytes")
    func bytes() throws {
        let (lines, rules) = (try Self.lines(), try Self.rules())
        #expect(lines.count > 20_000)
        let faults = try lines.compactMap { try Self.fault($0, rules) }
        #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
    }

    @Test("Each exception is needed")
    func exceptions() throws {
        let lines = try Self.lines()
        for exception in Self.exceptions {
            let isUsed = lines.contains { $0.file.contains(exception.file) && $0.text.contains(exception.line) }
            #expect(isUsed, "no line of \(exception.file) has \(exception.line) any more")
        }
    }

    @Test(
        "The rules find what they forbid",
        arguments: [
            "    private var lanes: [String: Int] = [:]", "var seen: Set<String> = []",
            "let all = Dictionary<String, Int>()",
            "let parts = path.split(separator: \"/\")", "text.split(whereSeparator: \\.isNewline)",
            "name.components(separatedBy: \"/\")", "if name.hasPrefix(\".\") { return }", "name.hasSuffix(mark)",
            "let dot = name.lastIndex(of: \".\")", "path.firstIndex(of: \"/\")", "text.range(of: \"://\")",
            "guard !name.contains(\"/\") else { return }",
            "@TaskLocal static var progress: (@Sendable () -> Void)?",
            "private let applied = Mutex<@Sendable (Int) -> Void>({ _ in })",
            "static let choice = Mutex<(@Sendable () -> Void)?>(nil)",
        ]
    )
    func found(_ code: String) throws {
        let file = "/Sources/StrataPipeline/Engine/Repository/OperationRepository.swift"
        #expect(try Self.fault(Line(file: file, number: 1, text: code), Self.rules()) != nil)
        #expect(try Self.fault(Line(file: file, number: 1, text: "    // " + code), Self.rules()) == nil)
    }

    @Test(
        "The rules accept what they ask for",
        arguments: [
            "private var lanes: [UTF8Text: Int] = [:]", "name.utf8.split(separator: UInt8(ascii: \"/\"))",
            "path.split(atBytes: \"/\")", "name.hasBytePrefix(\".\")", "body(of: [String](), at: 1)",
            "flags.contains(\"--once\")", "func open(names: [String], in folder: String)",
        ]
    )
    func allowed(_ code: String) throws {
        #expect(try Self.fault(Line(file: "/Sources/Strata/a.swift", number: 1, text: code), Self.rules()) == nil)
    }

    @Test("A package that uses only Strata resolves no packages of other products")
    func traits() throws {
        let manifest = try String(contentsOf: Repository.root.appending(path: "Package.swift"), encoding: .utf8)
        let needed = [
            "GRDB.swift", "swift-collections", "swift-distributed-tracing", "swift-log", "swift-metrics",
            "swift-syntax",
        ]
        let products = manifest.matches(of: try Regex(#"\.product\([^()]*(\([^()]*\))?[^()]*\)"#)).map {
            manifest[$0.range]
        }
        #expect(products.count > 40)
        for product in products where !needed.contains(where: { product.contains("package: \"\($0)\"") }) {
            #expect(product.contains("condition: .when(traits: ["), "\(product)")
        }
    }
}
