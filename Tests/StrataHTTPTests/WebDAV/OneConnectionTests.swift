import Foundation
import StrataCloud
import StrataHTTP
import Testing

/// What asks more than once does not wait for itself.
@Suite(.timeLimit(.minutes(1))) struct OneConnectionTests {
    @Test(arguments: [RemoteCase.lighttpd, .ministack]) func `one connection is enough for all`(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make(options: HTTPOptions(maximumConnections: 1))
        let (folder, file) = (RemoteKey(["folder"]), RemoteKey(["file"]))
        let isWebDAV = kind == .lighttpd
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
}
