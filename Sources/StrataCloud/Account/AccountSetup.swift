import Strata
import StrataPipeline

/// Finds an account in the store, or creates it there.
struct AccountSetup {
    let stack: ContextStack
    let account: String
    let remote: any Remote
    let names: NameRule?
    let isEncrypted: Bool

    func accountInfo() async throws -> AccountInfo {
        if let info = try await find() { return info }
        // If the remote cannot be reached, the default capabilities apply, which fit most remotes.
        let capabilities = (try? await remote.capabilities()) ?? RemoteCapabilities()
        let rule = names ?? NameRule(isCaseSensitive: capabilities.isCaseSensitive)
        do {
            return try await make(rule)
        } catch let error as StrataError where error.code == .notUnique {
            // Another process has created the account meanwhile.
            guard let info = try await find() else { throw error }
            return info
        }
    }

    private func find() async throws -> AccountInfo? {
        let (account, name, isEncrypted) = (account, remote.name, isEncrypted)
        return try await stack.overStore { context in
            guard let record = try context.first(.account(account)) else { return nil }
            try record.checkWhole()
            guard record.remote.hasSameBytes(as: name) else {
                throw CloudError(
                    .otherRemote,
                    "The account '\(account)' was set up on \(record.remote), not on \(name). Use another account id "
                        + "for \(name)."
                )
            }
            // An application that omits the keys must not upload content unencrypted that is encrypted so far.
            guard isEncrypted || !record.isSealed else {
                throw CloudError(
                    .encryptionMissing,
                    "The account '\(account)' encrypts its content. Open it with `encryption:`, or use another "
                        + "account id for unencrypted content."
                )
            }
            if record.isSealed != isEncrypted {
                record.isSealed = isEncrypted
                try context.commit()
            }
            return AccountInfo(record)
        }
    }

    private func make(_ rule: NameRule) async throws -> AccountInfo {
        let (account, name, isEncrypted) = (account, remote.name, isEncrypted)
        return try await stack.overStore { context in
            var numbers: [Trunk: Int64] = [:]
            for trunk in Trunk.allCases {
                let node = context.insert(
                    CloudNode(
                        account: account,
                        trunk: trunk,
                        name: trunk.rawValue,
                        place: trunk.rawValue,
                        isFolder: true,
                        trunkKey: "\(account)/\(trunk.rawValue)"
                    )
                )
                numbers[trunk] = node.id.rawValue
                guard trunk != .detached else { continue }
                let there = RemoteNode(account: account, segment: trunk.rawValue, isFolder: true, isCertain: false)
                try context.insert(there, as: node.id.counterpart(RemoteNode.self))?.node = node
            }
            let record = context.insert(
                AccountRecord(
                    account: account,
                    remote: name,
                    isCaseSensitive: rule.isCaseSensitive,
                    isSealed: isEncrypted,
                    home: numbers[.home] ?? 0,
                    prefs: numbers[.prefs] ?? 0,
                    inbox: numbers[.inbox] ?? 0,
                    outbox: numbers[.outbox] ?? 0,
                    detached: numbers[.detached] ?? 0
                )
            )
            try context.commit()
            return AccountInfo(record)
        }
    }
}
