import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOPosix
import StoreModels
import Strata
import StrataPipeline
import Synchronization
import Testing

@testable import PressKit

/// The program in a separate process, which the tests end and kill.
@Suite("The program press", .serialized) struct ProcessTests {
    /// The ids of the articles that a service has acknowledged.
    private final class Acknowledgements: Sendable {
        private let list = Mutex<[String]>([])

        var ids: [String] { list.withLock { $0 } }

        func add(_ id: String) { list.withLock { $0.append(id) } }
    }

    /// Adds articles until the service no longer answers.
    private func write(
        _ name: String,
        to process: PressProcess,
        author: String,
        into acknowledgements: Acknowledgements
    ) async {
        for number in 0... {
            let title = "\(name) \(number)"
            let json = #"{"title": "\#(title)", "body": "Text", "author": "\#(author)", "isPublished": true}"#
            guard let answer = await process.send("POST", "/articles", json), answer.status == 201, let id = answer.id
            else { return }
            acknowledgements.add(id)
        }
    }

    /// The ids of all articles in a store that no process has open.
    private func articles(in data: URL) async throws -> Set<String> {
        let stack = try await Press.openStack(PressSettings(dataFolder: data), logger: PressFixture.logger)
        let ids = try await stack.background { context in try context.ids(Article.all).map { "\($0)" } }
        try await stack.close()
        return Set(ids)
    }

    @Test(
        "SIGTERM and SIGKILL lose no acknowledged article",
        .timeLimit(.minutes(3)),
        arguments: [SIGTERM, SIGKILL]
    )
    func endings(_ signal: Int32) async throws {
        let scratch = try ScratchFolder()
        var known: Set<String> = []
        for round in 0..<3 {
            let process = try await PressProcess(scratch.url)
            let author = try #require(
                await process.send("POST", "/authors", #"{"name": "Ada", "email": "ada\#(round)@example.com"}"#)?.id
            )
            let acknowledgements = Acknowledgements()
            await withTaskGroup(of: Void.self) { group in
                for name in ["a", "b", "c", "d"] {
                    group.addTask { await write(name, to: process, author: author, into: acknowledgements) }
                }
                group.addTask {
                    // A few answers, so that requests run when the signal arrives.
                    try? await waitUntil { acknowledgements.ids.count >= 8 }
                    kill(process.process.id, signal)
                }
            }
            await process.process.wait()
            let written = acknowledgements.ids
            if signal == SIGTERM { #expect(process.process.exitStatus == 0) }
            #expect(!written.isEmpty)
            known.formUnion(written)
            #expect(try await articles(in: scratch.url).isSuperset(of: known))
        }
    }

    @Test("Each subscriber gets one mail, though the process is killed again and again", .timeLimit(.minutes(3)))
    func killedMails() async throws {
        let scratch = try ScratchFolder()
        let mails = scratch.url.appending(path: "mail")
        let first = try await PressProcess(scratch.url)
        for number in 0..<40 {
            let json = #"{"email": "reader\#(number)@example\#(number % 20).com"}"#
            #expect(await first.send("POST", "/subscribers", json)?.status == 201)
        }
        let author = try #require(
            await first.send("POST", "/authors", #"{"name": "Ada", "email": "ada@example.com"}"#)?.id
        )
        for number in 0..<5 {
            let json = #"{"title": "Title \#(number)", "body": "Text", "author": "\#(author)", "isPublished": true}"#
            #expect(await first.send("POST", "/articles", json)?.status == 201)
        }
        first.process.kill()
        await first.process.wait()
        var last = 0
        for _ in 0..<5 where last < 200 {
            let process = try await PressProcess(scratch.url)
            // Each process sends at least one more mail, if any are left.
            try await waitUntil { files(in: mails).count > last || files(in: mails).count == 200 }
            process.process.kill()
            await process.process.wait()
            last = files(in: mails).count
        }
        let process = try await PressProcess(scratch.url)
        try await waitUntil { files(in: mails).count >= 200 }
        process.process.terminate()
        await process.process.wait()
        #expect(process.process.exitStatus == 0)

        let texts = try files(in: mails).map { try String(contentsOf: mails.appending(path: $0), encoding: .utf8) }
        let pairs = texts.map { text in
            text.split(separator: "\r\n").filter { $0.hasPrefix("To: ") || $0.hasPrefix("Subject: ") }.joined()
        }
        #expect(pairs.count == 200)
        #expect(Set(pairs).count == 200)
    }

    private func files(in folder: URL) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).filter { $0.hasSuffix(".eml") }
    }

    @Test("The program reports its health and its metrics", .timeLimit(.minutes(1)))
    func metrics() async throws {
        let scratch = try ScratchFolder()
        let process = try await PressProcess(scratch.url)
        #expect(await process.send("GET", "/health/live")?.status == 200)
        #expect(await process.send("GET", "/health/ready")?.status == 200)
        #expect(await process.send("GET", "/articles")?.status == 200)
        #expect(await process.send("PATCH", "/articles")?.status == 405)
        // A request is counted when its answer is written, which may be a moment after its arrival here.
        try await waitUntil { await process.send("GET", "/metrics")?.text.contains("http_route=\"/articles\"") == true }
        let text = try #require(await process.send("GET", "/metrics")?.text)
        #expect(await process.send("GET", "/articles/7")?.status == 404)
        try await waitUntil {
            let lines = await process.send("GET", "/metrics")?.text.split(separator: "\n") ?? []
            return lines.contains { line in
                line.hasPrefix("hb_request_errors_total{") && line.contains("error_type=\"404\"")
                    && line.hasSuffix(" 1")
            }
        }
        #expect(!text.contains("error_type=\"200\""))
        #expect(text.contains("# TYPE hb_requests_total counter"))
        #expect(text.contains("# TYPE http_server_request_duration_seconds histogram"))
        #expect(text.contains("strata_commits_total"))
        #expect(!text.contains("PATCH"))
        process.process.terminate()
        await process.process.wait()
        #expect(process.process.exitStatus == 0)
    }

    @Test("A folder has one service, and wrong command lines are refused", .timeLimit(.minutes(1)))
    func refusals() async throws {
        let scratch = try ScratchFolder()
        let process = try await PressProcess(scratch.url)
        let second = try HelperProcess(
            helper: "press",
            ["serve", "--data-folder", scratch.url.path, "--http-port", "0"]
        )
        await second.wait()
        #expect(second.exitStatus == 1)
        for arguments in [["serve", "--http-prot", "80"], ["serve", "--http-port", "x"], ["sing"], []] {
            let wrong = try HelperProcess(helper: "press", arguments)
            await wrong.wait()
            #expect(wrong.exitStatus == 64, "\(arguments)")
        }
        let help = try HelperProcess(helper: "press", ["--help"])
        let lines = await help.end()
        for key in SettingKey.allCases { #expect(lines.contains { $0.contains(key.flag) }) }
        process.process.terminate()
        await process.process.wait()
    }

    @Test("More connections than the process may have open files do not end the service", .timeLimit(.minutes(1)))
    func connections() async throws {
        let scratch = try ScratchFolder()
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c", "ulimit -n 256; exec \"$0\" \"$@\"", HelperProcess.folder.appending(path: "press").path, "serve",
            "--data-folder", scratch.url.path, "--http-port", "0", "--log-level", "critical",
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        defer { process.terminate() }
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = try #require(Int(line.split(separator: ":").last?.split(separator: "\n").first ?? ""))

        // The system completes connections that the service has not accepted yet.
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        var channels: [any Channel] = []
        for _ in 0..<300 { channels.append(try await bootstrap.connect(host: "127.0.0.1", port: port).get()) }
        for channel in channels { try await channel.close().get() }
        try await waitUntil {
            let request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/health/live")
            return (try? await HTTPClient.shared.execute(request, timeout: .seconds(10)))?.status == .ok
        }
    }

    @Test("seed adds articles, and can be repeated", .timeLimit(.minutes(1)))
    func seed() async throws {
        let scratch = try ScratchFolder()
        for _ in 0..<2 {
            let seed = try HelperProcess(
                helper: "press",
                ["seed", "--data-folder", scratch.url.path, "--articles", "2500", "--log-level", "critical"]
            )
            await seed.wait()
            #expect(seed.exitStatus == 0)
        }
        #expect(try await articles(in: scratch.url).count == 5000)
        let process = try await PressProcess(scratch.url)
        let page = await process.send("GET", "/articles?size=100")
        #expect(page?.status == 200)
        #expect(page?.text.contains("\"next\"") == true)
        #expect(await process.send("GET", "/search?q=harbour&size=5")?.text.contains("snippet") == true)
        process.process.terminate()
        await process.process.wait()
    }
}
