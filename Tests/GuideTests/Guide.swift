import Foundation
import Testing

/// A page of documentation whose Swift blocks are one program.
///
/// The words after the opening fence of a block say how it is used:
/// - `swift`: compiled and run, after the blocks above it and in their scope.
/// - `swift compile-only`: compiled in that scope, and not run.
/// - `swift error`: must not compile there. A comment `// error: …` in it names a part of the compiler's message.
/// - `swift manifest`: a `Package.swift`, type-checked alone.
/// - an HTML comment that begins with a line `<!--swift`: run, and not shown to readers.
///
/// A block must print exactly the lines in its comments `// prints: …`, followed by those of a `text` block directly
/// after it.
struct Guide: Sendable, CustomTestStringConvertible {
    let name: String
    let blocks: [GuideBlock]
    /// The targets of its links to other files.
    let links: [String]

    var testDescription: String { name }

    init(name: String, text: String) {
        self.name = name
        var reader = GuideReader()
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { reader.read(String(line)) }
        blocks = reader.blocks
        links = text.matches(of: /\]\(([^)#:]+)(?:#[^)]*)?\)/).map { String($0.1) }
    }

    /// All pages of the repository whose code is checked.
    static let all = (["README.md"] + pages(in: "Guides")).compactMap(read)

    /// The main pages of the documentation catalogues. Their code is compiled and not run, because some of it needs
    /// servers.
    static let catalogues: [Guide] = names(in: "Sources").compactMap { read("Sources/\($0)/\($0).docc/\($0).md") }

    private static func names(in folder: String) -> [String] {
        let folder = Repository.root.appending(path: folder)
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    private static func pages(in folder: String) -> [String] {
        names(in: folder).filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
    }

    private static func read(_ name: String) -> Guide? {
        let file = Repository.root.appending(path: name)
        return (try? String(contentsOf: file, encoding: .utf8)).map { Guide(name: name, text: $0) }
    }
}

/// A block of Swift in a page.
struct GuideBlock: Sendable {
    enum Kind: String, Sendable {
        case run = "swift"
        case compileOnly = "swift compile-only"
        case error = "swift error"
        case manifest = "swift manifest"
    }

    let kind: Kind
    /// The number of its first line of code.
    let line: Int
    var code: [String] = []
    /// The lines of a `text` block directly after this block.
    var text: [String] = []

    /// The lines that the block must print.
    var expected: [String] { comments("// prints: ") + text }

    /// Parts of the compiler's messages that refuse the block.
    var errors: [String] { comments("// error: ") }

    private func comments(_ mark: String) -> [String] {
        code.compactMap { line in line.range(of: mark).map { String(line[$0.upperBound...]) } }
    }
}

/// Finds the blocks of a page, line by line.
private struct GuideReader {
    private enum State {
        case prose
        case swift(end: String)
        case text
        case other
    }

    var blocks: [GuideBlock] = []
    private var state = State.prose
    private var line = 0
    /// Whether there is only blank space between this line and the block before.
    private var follows = false

    mutating func read(_ text: String) {
        line += 1
        switch state {
        case .prose: readProse(text)
        case .swift(let end):
            if text == end { state = .prose } else { blocks[blocks.count - 1].code.append(text) }
            follows = true
        case .text:
            if text == "```" { state = .prose } else { blocks[blocks.count - 1].text.append(text) }
            follows = false
        case .other:
            if text == "```" { state = .prose }
        }
    }

    private mutating func readProse(_ text: String) {
        if text == "<!--swift" {
            begin(.run, end: "-->")
        } else if text == "```text" && follows {
            state = .text
        } else if text.hasPrefix("```") {
            if let kind = GuideBlock.Kind(rawValue: String(text.dropFirst(3))) {
                begin(kind, end: "```")
            } else {
                // A misspelt kind must not pass for a block that the tests skip.
                state = text.hasPrefix("```swift") ? .swift(end: "```") : .other
                if text.hasPrefix("```swift") {
                    blocks.append(GuideBlock(kind: .run, line: line, code: ["#error(\"\(text)\")"]))
                }
            }
        } else if !text.isEmpty {
            follows = false
        }
    }

    private mutating func begin(_ kind: GuideBlock.Kind, end: String) {
        blocks.append(GuideBlock(kind: kind, line: line + 1))
        state = .swift(end: end)
    }
}
