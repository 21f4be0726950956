import Foundation
import Strata
import StrataCloud
import StrataPipeline

/// A store whose names and texts try to become markup, to run scripts, or to be very long.
enum HostileStore {
    static let script = "<script>document.title='owned'</script>"

    static let texts = [
        script,
        "\"><img src=x onerror=\"document.title='owned'\">",
        "' autofocus onfocus='document.title=1' x='",
        "\"\u{301} onmouseover=\"document.title='owned'\"",
        "javascript:document.title='owned'",
        "</table></main></section><h1>owned</h1>",
        "{{formToken}} {{{title}}}",
        "line\nfeed\ttab\r\u{1B}[2J",
        "right\u{202E}gpj.exe\u{200F}\u{2066}left",
        "a%2F..%2F?b=c&d#e+f",
    ]

    /// A megabyte without a space.
    static let long = String(repeating: "long-", count: 200_000)

    private struct HostileText: OperationPayload {
        static var operationType: String { HostileStore.script }
        var text: String
    }

    static func make(_ url: URL) async throws {
        let stack = try await SampleStore.open(url)
        try await addObjects(stack)
        try await fail(stack)
        try await queue(stack)
        try await stack.updatePipelineSettings(of: "hostile", by: script) { $0.maxConcurrent = 2 }
        let path: TreePath = "/letters/<img src=x onerror=document.title=1>.txt"
        try await SampleStore.addAccount(to: stack, beside: url, path: path)
        try await stack.close()
    }

    private static func addObjects(_ stack: ContextStack) async throws {
        for text in texts + [long] {
            try await stack.background { context in
                context.author = text
                let album = context.insert(Album(name: text))
                context.insert(Photo(title: text, album: album))
                try context.commit()
            }
        }
    }

    /// Runs operations that fail with their texts as the reason.
    private static func fail(_ stack: ContextStack) async throws {
        try await stack.background { context in
            for text in texts + [long] { context.enqueue(HostileText(text: text), in: "hostile", tags: ["hostile"]) }
            try context.commit()
        }
        let options = PipelineOptions(retry: .never)
        let pipeline = try await Pipeline.open(
            stack,
            named: "hostile",
            options: options
        ) { (attempt: Attempt<HostileText>) in
            return .fail(attempt.payload.text)
        }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
    }

    private static func queue(_ stack: ContextStack) async throws {
        try await stack.background { context in
            for text in texts {
                let payload = HostileText(text: text)
                context.enqueue(payload, in: PipelineName(text), lane: text, key: text, tags: [text])
                try context.schedule(text, payload, in: PipelineName(text), lane: text, .cron("0 3 * * *"))
            }
            context.enqueue(HostileText(text: long), in: PipelineName(long))
            try context.commit()
        }
    }
}
