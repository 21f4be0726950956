import Foundation
import StrataCloud
import Testing

@Suite(.timeLimit(.minutes(3))) struct ConditionTests {
    @Test("The remote states the conditions that it checks", arguments: RemoteCase.all)
    func supportedConditions(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let capabilities = try await remote.capabilities()
        #expect(capabilities.isLocal)
        #expect(capabilities.checksAbsence && capabilities.checksVersions)
        // The probe object is gone, and the listing does not show it.
        #expect(try await remote.all(.root).isEmpty)
    }

    @Test("An existing object is not replaced by a write that requires a free key", arguments: RemoteCase.all)
    func createOnly(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        let key = RemoteKey(["a"])
        let put = try await remote.put("first", at: key, if: .isAbsent)
        await expect(.conditionFailed) { try await remote.put("second", at: key, if: .isAbsent) }
        #expect(try await remote.text(key) == "first")
        #expect(try await remote.head(key)?.eTag == put.eTag)
        #expect(try await remote.delete(key, isFolder: false, if: .none))
        try await remote.put("second", at: key, if: .isAbsent)
        #expect(try await remote.text(key) == "second")
    }

    @Test("Only the intended version is replaced", arguments: RemoteCase.all)
    func replaceOnlyVersion(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let key = RemoteKey(["a"])
        await expect(.conditionFailed) { try await remote.put("x", at: key, if: .matches(ETag("none"))) }
        #expect(try await remote.head(key) == nil)
        let first = try #require(try await remote.put("first", at: key).eTag)
        let second = try #require(try await remote.put("other", at: key, if: .matches(first)).eTag)
        await expect(.conditionFailed) { try await remote.put("third", at: key, if: .matches(first)) }
        #expect(try await remote.text(key) == "other")
        try await remote.put("third", at: key, if: .matches(second))
        #expect(try await remote.text(key) == "third")
    }

    @Test("Only the intended version is deleted", arguments: RemoteCase.all)
    func deleteOnlyVersion(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let key = RemoteKey(["a"])
        let first = try #require(try await remote.put("first", at: key).eTag)
        let second = try #require(try await remote.put("other", at: key).eTag)
        await expect(.conditionFailed) { try await remote.delete(key, isFolder: false, if: .matches(first)) }
        #expect(try await remote.text(key) == "other")
        #expect(try await remote.delete(key, isFolder: false, if: .matches(second)))
        #expect(try await remote.head(key) == nil)
    }

    @Test("Of many concurrent creates of one key, one succeeds", arguments: RemoteCase.atomic)
    func concurrentCreates(kind: RemoteCase)
        async throws
    {
        let remote = try await kind.make()
        guard try await remote.capabilities().checksAbsence else { return }
        for round in 0..<3 {
            let key = RemoteKey(["\(round)"])
            let winners = try await race(kind) { try await remote.put("\($0)", at: key, if: .isAbsent) }
            #expect(winners.count == 1, "round \(round): \(winners)")
            #expect(try await remote.text(key) == winners.first.map { "\($0)" })
        }
    }

    @Test("Of many concurrent replacements of one version, one succeeds", arguments: RemoteCase.atomic)
    func concurrentReplaces(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        guard try await remote.capabilities().checksVersions else { return }
        let key = RemoteKey(["a"])
        for round in 0..<3 {
            let tag = try #require(try await remote.put("round \(round)", at: key).eTag)
            let winners = try await race(kind) { try await remote.put("\($0)", at: key, if: .matches(tag)) }
            #expect(winners.count == 1, "round \(round): \(winners)")
            #expect(try await remote.text(key) == winners.first.map { "\($0)" })
        }
    }

    /// The writers, out of sixteen, whose writes succeed. The condition of every other write fails.
    private func race(_ kind: RemoteCase, _ body: @escaping @Sendable (Int) async throws -> RemoteObject) async throws
        -> [Int]
    {
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for number in 0..<16 {
                group.addTask {
                    let failure = await code { try await body(number) }
                    // Ceph answers 500 if another client is writing at the same time. A repeated request gets 412.
                    let isBusy = kind == .ceph && failure == .unavailable
                    #expect(failure == nil || failure == .conditionFailed || isBusy, "\(failure?.description ?? "")")
                    return failure == nil ? number : nil
                }
            }
            return try await group.reduce(into: []) { if let number = $1 { $0.append(number) } }
        }
    }
}
