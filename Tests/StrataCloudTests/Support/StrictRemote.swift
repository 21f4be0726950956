import Crypto
import Foundation
import Strata
import StrataCloud
import Synchronization

/// A remote in memory that refuses everything that a real one might: a missing parent, an occupied path, a missing
/// source, an unexpected version.
final class StrictRemote: Remote {
    struct Entry: Equatable {
        var isFolder = false
        var data = Data()
        var version = 0
        var mark: String?
    }

    struct Request: Hashable, CustomStringConvertible {
        var verb: String
        var key: String
        var description: String { "\(verb) \(key)" }
    }

    struct State {
        var entries: [String: Entry] = [:]
        var version = 0
        var requests: [Request] = []
        var refusals: [String] = []
        var running = 0
        var mostRunning = 0
        var uploads: [String: [Int: Data]] = [:]
        /// The number of bytes that were read.
        var given = 0
        /// Whether requests report the versions of files.
        var tellsVersions = true
        /// The entry that a listing shows for a path, or nil if the listing does not show it.
        var shows: @Sendable (String, Entry) -> Entry? = { $1 }
        /// Entries that listings contain in an unreadable form.
        var unreadable: Set<String> = []
    }

    let name: String
    let abilities: RemoteCapabilities
    let state = Mutex(State())
    /// The fault before or after a request, given the request and the number of requests so far.
    let fault: @Sendable (Request, Int) -> Fault?

    enum Fault {
        case before(RemoteError)
        case answerLost
        /// The request takes effect, and its answer does not arrive before the task is cancelled.
        case noAnswer
        case pause(Int)
        case gate(Gate)
        case refusal(Gate, RemoteError)
        /// The body ends after this number of bytes. A write stores the bytes that have arrived.
        case cut(Int)
        /// The remote answers "STORE" with success and without a version, and stores nothing.
        case swallowed
    }

    init(
        name: String = "strict",
        _ abilities: RemoteCapabilities = RemoteCapabilities(isLocal: true),
        fault: @escaping @Sendable (Request, Int) -> Fault? = { _, _ in nil }
    ) {
        (self.name, self.abilities, self.fault) = (name, abilities, fault)
    }

    func capabilities() async throws -> RemoteCapabilities { abilities }

    // MARK: Inspection

    /// The files and folders by path. The path of a folder ends with a slash.
    var tree: [String: String] {
        state.withLock { state in
            var tree: [String: String] = [:]
            for (path, entry) in state.entries {
                if entry.isFolder {
                    tree[path + "/"] = ""
                } else {
                    tree[path] = String(decoding: entry.data, as: UTF8.self)
                }
            }
            return tree
        }
    }

    var refusals: [String] { state.withLock { $0.refusals } }
    var requests: [Request] { state.withLock { $0.requests } }

    /// Writes a file as another machine does, or deletes it.
    func write(_ path: String, _ text: String?) {
        state.withLock { state in
            guard let text else { return state.entries[path] = nil }
            state.version += 1
            state.entries[path] = Entry(data: Data(text.utf8), version: state.version)
        }
    }

    /// Writes bytes as another machine does, or as a server does that does not change the version.
    func write(_ path: String, _ bytes: Data, isNewVersion: Bool) {
        state.withLock { state in
            if isNewVersion { state.version += 1 }
            var entry = state.entries[path] ?? Entry()
            entry.data = bytes
            if isNewVersion { entry.version = state.version }
            state.entries[path] = entry
        }
    }

    /// The bytes of a file.
    func bytes(_ path: String) -> Data { state.withLock { $0.entries[path]?.data ?? Data() } }

    /// The files and folders by path, with the content of encrypted files decrypted.
    func opened(by keys: AccountKeys) throws -> [String: String] {
        var tree = tree
        for path in tree.keys where !path.hasSuffix("/") {
            tree[path] = String(decoding: try EncryptionFixture.open(bytes(path), .data, keys), as: UTF8.self)
        }
        return tree
    }

    /// Makes a folder as another machine does.
    func folder(_ path: String) { state.withLock { $0.entries[path] = Entry(isFolder: true) } }

    /// Moves a folder with everything in it.
    func carry(_ path: String, to other: String) {
        state.withLock { state in
            var entries = state.entries
            for (key, entry) in state.entries where key == path || key.hasPrefix(path + "/") {
                entries[key] = nil
                entries[other + key.dropFirst(path.count)] = entry
            }
            state.entries = entries
        }
    }

    /// Moves a file as another machine does.
    func rename(_ path: String, to other: String) {
        state.withLock { state in
            var entries = state.entries
            entries[other] = entries.removeValue(forKey: path)
            state.entries = entries
        }
    }

    // MARK: Requests

    private func request<Value: Sendable>(
        _ verb: String,
        _ key: RemoteKey,
        _ body: @Sendable (inout State) throws -> Value
    ) async throws -> Value {
        let request = Request(verb: verb, key: key.path)
        let count = state.withLock { state in
            state.requests.append(request)
            state.running += 1
            state.mostRunning = max(state.mostRunning, state.running)
            return state.requests.count
        }
        defer { state.withLock { $0.running -= 1 } }
        let fault = fault(request, count)
        if case .before(let error) = fault {
            throw error
        }
        if case .pause(let turns) = fault { for _ in 0..<turns { await Task.yield() } }
        if case .gate(let gate) = fault { await gate.wait() }
        if case .refusal(let gate, let error) = fault {
            await gate.wait()
            throw error
        }
        try Task.checkCancellation()
        let result = try state.withLock { state in
            do {
                return try body(&state)
            } catch let error as RemoteError {
                // A client finds out with these requests that a file is missing, so a failure is not a refusal.
                if verb != "LIST", verb != "HEAD" { state.refusals.append("\(request): \(error.code)") }
                throw error
            }
        }
        if case .answerLost = fault {
            throw RemoteError(.answerLost, "The answer is lost.", key: key)
        }
        if case .noAnswer = fault { try await Task.sleep(for: .seconds(86_400)) }
        if case .pause(let turns) = fault { for _ in 0..<turns { await Task.yield() } }
        return result
    }

    private static func object(_ key: RemoteKey, _ entry: Entry) -> RemoteObject {
        entry.isFolder
            ? RemoteObject(key: key, isFolder: true)
            : RemoteObject(
                key: key,
                eTag: ETag("v\(entry.version)"),
                size: Int64(entry.data.count),
                mark: entry.mark
            )
    }

    func head(_ key: RemoteKey) async throws -> RemoteObject? {
        try await request("HEAD", key) { state in
            guard let entry = state.entries[key.path] else { return nil }
            // If a folder exists only as the prefix of keys, its own key has no object.
            if entry.isFolder, !self.abilities.hasFolders { return nil }
            return state.told(Self.object(key, entry))
        }
    }

    func get(_ key: RemoteKey, range: Range<Int64>?, if condition: RemoteCondition) async throws -> RemoteDownload {
        let verb = range.map { "GET from \($0.lowerBound)" } ?? "GET"
        return try await request(verb, key) { state in
            let cut: Int? =
                if case .cut(let count) = self.fault(Request(verb: "BODY", key: key.path), state.requests.count) {
                    count
                } else { nil }
            guard let entry = state.entries[key.path], !entry.isFolder else { throw RemoteError(.notFound, "\(key)") }
            try Self.check(condition, entry, key)
            let size = Int64(entry.data.count)
            if let range, range.lowerBound > size { throw RemoteError(.rangeNotSatisfiable, "\(key)") }
            let range = range.map { $0.lowerBound..<min($0.upperBound, size) } ?? 0..<size
            let data = entry.data[Int(range.lowerBound)..<Int(range.upperBound)]
            state.given += data.count
            return RemoteDownload(
                object: state.told(Self.object(key, entry)),
                range: range,
                chunks: AsyncThrowingStream { continuation in
                    continuation.yield(data.prefix(cut ?? data.count))
                    continuation.finish(throwing: cut.map { _ in RemoteError(.answerLost, "The body ends.") })
                }
            )
        }
    }

    func list(_ folder: RemoteKey, isRecursive: Bool, after next: String?) async throws -> RemoteListing {
        try await request("LIST", folder) { state in
            if !folder.segments.isEmpty, self.abilities.hasFolders, state.entries[folder.path]?.isFolder != true {
                throw RemoteError(.notFound, "\(folder)")
            }
            let prefix = folder.segments.isEmpty ? "" : folder.path + "/"
            var objects: [RemoteObject] = []
            var isComplete = true
            for (path, entry) in state.entries where path.hasBytePrefix(prefix) && path != folder.path {
                let segments = path.split(atBytes: "/")
                guard isRecursive || segments.count == folder.segments.count + 1 else { continue }
                guard let key = RemoteKey(found: segments) else { continue }
                if state.unreadable.contains(path) {
                    isComplete = false
                    continue
                }
                guard let shown = state.shows(path, entry) else { continue }
                objects.append(state.told(Self.object(key, shown)))
            }
            return RemoteListing(objects: objects, isComplete: isComplete)
        }
    }

    private static func check(_ condition: RemoteCondition, _ entry: Entry?, _ key: RemoteKey) throws {
        switch condition {
        case .none: break
        case .isAbsent: if entry != nil { throw RemoteError(.conditionFailed, "\(key) is there") }
        case .matches(let eTag):
            guard let entry, eTag.value == "v\(entry.version)" else {
                throw RemoteError(.conditionFailed, "\(key) is of another version")
            }
        }
    }

    private func swallows(_ key: RemoteKey, _ state: State) -> Bool {
        if case .swallowed = fault(Request(verb: "STORE", key: key.path), state.requests.count) { true } else { false }
    }

    private func checkParent(_ key: RemoteKey, _ state: State) throws {
        guard abilities.hasFolders, let parent = key.parent, !parent.segments.isEmpty else { return }
        guard state.entries[parent.path]?.isFolder == true else { throw RemoteError(.parentMissing, "\(key)") }
    }

    func put(_ body: RemoteBody, at key: RemoteKey, if condition: RemoteCondition) async throws -> RemoteObject {
        let data = try await body.data()
        let (object, cut) = try await request("PUT", key) { state -> (RemoteObject, Int?) in
            try self.checkParent(key, state)
            let entry = state.entries[key.path]
            if entry?.isFolder == true { throw RemoteError(.occupied, "\(key) is a folder") }
            try Self.check(condition, entry, key)
            if self.swallows(key, state) { return (RemoteObject(key: key, size: Int64(data.count)), nil) }
            state.version += 1
            var new = Entry(data: data, version: state.version, mark: self.abilities.keepsMarks ? body.mark : nil)
            var cut: Int?
            if case .cut(let count) = self.fault(Request(verb: "WRITE", key: key.path), state.requests.count) {
                cut = count
                new.data = data.prefix(count)
            }
            state.entries[key.path] = new
            return (Self.object(key, new), cut)
        }
        if cut != nil { throw RemoteError(.answerLost, "The connection breaks.", key: key) }
        return object
    }

    func createFolder(_ key: RemoteKey) async throws -> Bool {
        try await request("MKCOL", key) { state in
            try self.checkParent(key, state)
            if let entry = state.entries[key.path] {
                guard entry.isFolder else { throw RemoteError(.occupied, "\(key) is a file") }
                return false
            }
            state.entries[key.path] = Entry(isFolder: true)
            return true
        }
    }

    func delete(_ key: RemoteKey, isFolder: Bool, if condition: RemoteCondition) async throws -> Bool {
        try await request("DELETE", key) { state in
            guard let entry = state.entries[key.path] else { return false }
            guard entry.isFolder == isFolder else { throw RemoteError(.occupied, "\(key)") }
            try Self.check(condition, entry, key)
            if isFolder, state.entries.keys.contains(where: { $0.hasPrefix(key.path + "/") }) {
                throw RemoteError(.notEmpty, "\(key)")
            }
            state.entries[key.path] = nil
            return true
        }
    }

    func beginUpload(_ key: RemoteKey, mark: String?, mediaType: String?) async throws -> String {
        try await request("BEGIN", key) { state in
            state.version += 1
            state.uploads["u\(state.version)"] = [:]
            return "u\(state.version)"
        }
    }

    func uploadPart(_ body: RemoteBody, number: Int, of upload: String, at key: RemoteKey) async throws -> String {
        let data = try await body.data()
        return try await request("PART \(number)", key) { state in
            guard state.uploads[upload] != nil else { throw RemoteError(.uploadGone, upload) }
            state.uploads[upload]?[number] = data
            return "p\(number)"
        }
    }

    func completeUpload(
        _ upload: String,
        parts: [String],
        at key: RemoteKey,
        if condition: RemoteCondition
    ) async throws -> RemoteObject {
        try await request("COMPLETE", key) { state in
            guard let arrived = state.uploads[upload] else { throw RemoteError(.uploadGone, upload) }
            try self.checkParent(key, state)
            try Self.check(condition, state.entries[key.path], key)
            var data = Data()
            for (index, part) in parts.enumerated() {
                guard part == "p\(index + 1)", let bytes = arrived[index + 1] else {
                    throw RemoteError(.refused, "\(part)")
                }
                data += bytes
            }
            if self.swallows(key, state) { return RemoteObject(key: key, size: Int64(data.count)) }
            state.uploads[upload] = nil
            state.version += 1
            let entry = Entry(data: data, version: state.version)
            state.entries[key.path] = entry
            return Self.object(key, entry)
        }
    }

    func abortUpload(_ upload: String, at key: RemoteKey) async throws {
        try await request("ABORT", key) { state in state.uploads[upload] = nil }
    }

    func copy(_ source: RemoteKey, to target: RemoteKey, version: ETag?) async throws -> RemoteObject {
        try await request("COPY", target) { state in
            guard self.abilities.copies else { throw RemoteError(.unsupported, "copies") }
            guard let entry = state.entries[source.path], !entry.isFolder else {
                throw RemoteError(.notFound, "\(source)")
            }
            if let version { try Self.check(.matches(version), entry, source) }
            try self.checkParent(target, state)
            try Self.check(.isAbsent, state.entries[target.path], target)
            if self.swallows(target, state) { return RemoteObject(key: target, size: Int64(entry.data.count)) }
            state.version += 1
            var new = entry
            new.version = state.version
            state.entries[target.path] = new
            return Self.object(target, new)
        }
    }

    func move(_ source: RemoteKey, to target: RemoteKey, isFolder: Bool) async throws {
        try await request("MOVE", target) { state in
            guard self.abilities.moves, self.abilities.hasFolders || !isFolder else {
                throw RemoteError(.unsupported, "moves")
            }
            guard let entry = state.entries[source.path], entry.isFolder == isFolder else {
                throw RemoteError(.notFound, "\(source)")
            }
            guard !target.isWithin(source) else { throw RemoteError(.occupied, "\(target) lies in \(source)") }
            try self.checkParent(target, state)
            try Self.check(.isAbsent, state.entries[target.path], target)
            if self.swallows(target, state) { return }
            var entries = state.entries
            for (path, entry) in state.entries where path == source.path || path.hasPrefix(source.path + "/") {
                entries[path] = nil
                entries[target.path + path.dropFirst(source.path.count)] = entry
            }
            state.entries = entries
        }
    }
}

extension StrictRemote.State {
    /// The object as the remote reports it.
    fileprivate func told(_ object: RemoteObject) -> RemoteObject {
        var object = object
        if !tellsVersions { object.eTag = nil }
        return object
    }
}
