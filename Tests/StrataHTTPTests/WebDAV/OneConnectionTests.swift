import Foundation
import StrataCloud
import Testing

@testable import StrataHTTP

/// An operation that sends several requests at the same time does not block itself.
@Suite(.timeLimit(.minutes(1))) struct OneConnectionTests {
    @Test("One connection is sufficient for all requests", arguments: [RemoteCase.lighttpd, .apache, .ministack])
    func enough(
        kind: RemoteCase
    )
        async throws
    {
        let remote = try await kind.make(options: HTTPOptions(maximumConnections: 1))
        let (folder, file) = (RemoteKey(["folder"]), RemoteKey(["file"]))
        let isWebDAV = RemoteCase.webDAV.contains(kind)
        try await remote.createFolder(folder)
        try await remote.put("a", at: file)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    #expect(try await !remote.createFolder(folder))
                    _ = await failure { try await remote.put("x", at: folder.appending("no").appending("where")) }
                    _ = await failure { try await remote.get(folder, range: nil, if: .none) }
                    #expect(try await remote.text(file, range: 1..<5) == "")
                    await expect(.conditionFailed) { try await remote.put("x", at: file, if: .isAbsent) }
                    await expect(.conditionFailed) { try await remote.copy(file, to: file, version: nil) }
                    if isWebDAV { await expect(.occupied) { try await remote.createFolder(file) } }
                    let download = try await remote.get(file, range: nil, if: .none)
                    for try await chunk in download.chunks { #expect(chunk == Data("a".utf8)) }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(
        "The source of an upload can be read from the same server",
        arguments: [RemoteCase.lighttpd, .ministack],
        [1, 4]
    )
    func readDuringUpload(kind: RemoteCase, connections: Int) async throws {
        let remote = try await kind.make(options: HTTPOptions(maximumConnections: connections))
        let source = RemoteKey(["source"])
        try await remote.put("0123456789", at: source)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<12 {
                group.addTask {
                    let body = RemoteBody(size: 10) { range in
                        try await remote.get(source, range: range, if: .none).chunks
                    }
                    _ = try await remote.put(body, at: RemoteKey(["copy \(index)"]), if: .isAbsent)
                }
            }
            try await group.waitForAll()
        }
        for index in 0..<12 { #expect(try await remote.text(RemoteKey(["copy \(index)"])) == "0123456789") }
    }

    @Test("Places are returned, and one is reserved for reads")
    func reservedPlace() async throws {
        let gate = RequestGate(limit: 3)
        let senders = try await [gate.enter(isSending: true), gate.enter(isSending: true)]
        let third = Task { try await gate.enter(isSending: true).giveBack() }
        let cancelled = Task { try await gate.enter(isSending: true).giveBack() }
        for _ in 0..<3 { try await gate.enter().giveBack() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        senders[0].giveBack()
        senders[0].giveBack()
        try await third.value
        senders[1].giveBack()
        // All places are free again, and their number has not grown.
        let all = try await [gate.enter(isSending: true), gate.enter(isSending: true), gate.enter()]
        let late = Task { try await gate.enter() }
        try await Task.sleep(for: .milliseconds(20))
        all[2].giveBack()
        _ = try await late.value
    }
}
