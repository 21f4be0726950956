import Foundation
import StoreModels
import Testing

@Suite("strata serve", .timeLimit(.minutes(1))) struct ServeCommandTests {
    @Test("The program prints the address with a token, and ends on a signal", arguments: [[], ["--allow-changes"]])
    func address(_ options: [String]) async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let process = try HelperProcess(helper: "strata", ["serve", url.path, "--port", "0"] + options)
        let line = try await process.next()
        #expect(line.wholeMatch(of: /http:\/\/127\.0\.0\.1:[1-9][0-9]*\/\?token=[0-9a-f]{64}/) != nil, "\(line)")
        process.terminate()
        await process.wait()
        #expect(process.exitStatus == 128 + SIGTERM)
    }

    @Test("A port in use is named with advice")
    func portInUse() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let process = try HelperProcess(helper: "strata", ["serve", url.path, "--port", "0"])
        let line = try await process.next()
        let port = try #require(line.firstMatch(of: /127\.0\.0\.1:([0-9]+)/)?.1)
        let second = await ToolRun(["serve", url.path, "--port", String(port)])
        #expect(second.status == 1)
        #expect(second.messages.contains("The port \(port) is in use. Choose another one with --port."))
        process.terminate()
        await process.wait()
    }

    @Test("A token of a file is used")
    func tokenFile() async throws {
        let folder = try ScratchFolder()
        let url = try await QueueStore.make(in: folder)
        let file = folder.file("token")
        try Data("abcdefghijklmnop-1\nrest".utf8).write(to: file)
        let arguments = ["serve", url.path, "--port", "0", "--token-file", file.path]
        let process = try HelperProcess(helper: "strata", arguments)
        #expect(try await process.next().hasSuffix("/?token=abcdefghijklmnop-1"))
        process.terminate()
        await process.wait()
        try Data("short".utf8).write(to: file)
        let refused = await ToolRun(arguments)
        #expect(refused.status == 1)
        #expect(refused.messages.contains("is not a token"))
    }

    @Test(
        "Wrong options are refused",
        arguments: [
            ["--host", "0.0.0.0", "--no-token"], ["--token", "short"], ["--token", "abcdefghijklmnop qr"],
            ["--no-token", "--token", "abcdefghijklmnop"], ["--port", "70000"], ["--host", ""],
        ]
    )
    func refused(_ options: [String]) async throws {
        let run = await ToolRun(["serve", "store.sqlite"] + options)
        #expect(run.status == 64, "\(run.messages)")
    }
}
