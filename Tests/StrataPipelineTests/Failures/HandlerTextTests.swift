import Foundation
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

@Suite("Size limit of texts from handlers", .timeLimit(.minutes(1))) struct HandlerTextTests {
    private struct Said: Error, CustomStringConvertible {
        let description: String
    }

    /// Long texts: one character, many characters, and many characters of several bytes each.
    private static let texts = [
        "e" + String(repeating: "\u{301}", count: 100_000), String(repeating: "x", count: 100_000),
        "x" + String(repeating: "\u{1F600}", count: 100_000), String(repeating: "\0", count: 100_000).storable,
    ]

    @Test("A longer text is cut to the limit without splitting a Unicode scalar")
    func kept() {
        for text in Self.texts {
            let kept = HandlerText.kept(text)
            #expect((HandlerText.limit - 3...HandlerText.limit).contains(kept.utf8.count))
            #expect(kept.utf8.dropLast(3).elementsEqual(text.utf8.prefix(kept.utf8.count - 3)))
            #expect(kept.unicodeScalars.last == "…" && !kept.unicodeScalars.contains("\u{FFFD}"))
            #expect(HandlerText.kept(kept) == kept)
        }
        let whole = String(repeating: "x", count: HandlerText.limit)
        #expect(HandlerText.kept(whole) == whole)
        #expect(HandlerText.kept("") == "")
    }

    @Test("The limit holds in rows and events, whichever way the handler reports the text", arguments: texts.indices)
    func everyWay(_ index: Int) async throws {
        let text = Self.texts[index]
        let harness = try await PipelineHarness.open(retry: RetryPolicy(maxAttempts: 2))
        let names = ["fails", "throws", "snoozes", "retries", "blocks", "waits"]
        try await harness.commit(names.map { Entry(stringLiteral: $0) })
        harness.pipeline.resume()
        try await harness.end("fails", .success(.fail(text)))
        try await harness.end("throws", .failure(Said(description: text)))
        try await harness.end("snoozes", .success(.snooze(for: .seconds(1), because: text)))
        try await harness.end("retries", .success(.retry(after: .seconds(1), because: Said(description: text))))
        try await harness.end("blocks", .success(.done { _ in throw Said(description: text) }))
        try await harness.end("waits", .success(.wait(Constraint(rawValue: text))))
        for name in names {
            let row = try #require(try await harness.row(name))
            #expect(row.failures.list.count == 1 && row.constraint == nil, "\(name)")
            #expect(row.failures.list.allSatisfy { $0.message.utf8.count <= HandlerText.limit }, "\(name)")
        }
        for event in harness.log.events { #expect(event.description.utf8.count <= HandlerText.limit + 100) }
        try await harness.close()
    }

    @Test("The limit holds for the message of an operation whose requested retries are used up")
    func usedUp() async throws {
        let harness = try await PipelineHarness.open(retry: .never)
        try await harness.commit(["A"])
        harness.pipeline.resume()
        let error = Said(description: Self.texts[1])
        try await harness.end("A", .success(.retry(after: .zero, because: error)))
        let row = try #require(try await harness.row("A"))
        #expect(row.status == .failed && row.failures.list.count == 1)
        let message = row.failures.list[0].message
        #expect(message.utf8.count == HandlerText.limit)
        #expect(message.hasPrefix("The handler requested a retry") && message.contains("xxx"))
        try await harness.close()
    }

    @Test("Messages that the engine writes have the same limit")
    func cycle() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let id = harness.id("A").rawValue
        try harness.stack.transact(author: "test") { try OperationRepository($0).fail(id, Self.texts[1]) }
        let message = try #require(try await harness.row("A")).failures.list[0].message
        #expect(message.utf8.count == HandlerText.limit)
        try await harness.close()
    }

    @Test("An operation can wait for a constraint whose name has the maximum length")
    func longestConstraint() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        let name = String(repeating: "x", count: HandlerText.limit)
        try await harness.end("A", .success(.wait(Constraint(rawValue: name))))
        #expect(try await harness.row("A")?.constraint == name)
        try await harness.close()
    }
}
