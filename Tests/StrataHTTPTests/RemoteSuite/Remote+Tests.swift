import Foundation
import StrataCloud
import Testing

extension Remote {
    /// Writes a text.
    @discardableResult
    func put(_ text: String, at key: RemoteKey, if condition: RemoteCondition = .none) async throws -> RemoteObject {
        try await put(RemoteBody(Data(text.utf8)), at: key, if: condition)
    }

    /// Reads a text, or a range of it.
    func text(_ key: RemoteKey, range: Range<Int64>? = nil, if condition: RemoteCondition = .none) async throws
        -> String
    {
        String(decoding: try await data(key, range: range, if: condition), as: UTF8.self)
    }

    func data(_ key: RemoteKey, range: Range<Int64>? = nil, if condition: RemoteCondition = .none) async throws -> Data
    {
        let download = try await get(key, range: range, if: condition)
        var data = Data()
        for try await chunk in download.chunks { data.append(chunk) }
        #expect(data.count == download.range.count)
        return data
    }

    /// All objects of a listing, in the order of their keys.
    func all(_ folder: RemoteKey, isRecursive: Bool = false) async throws -> [RemoteObject] {
        var objects: [RemoteObject] = []
        var next: String?
        for _ in 0..<100 {
            let part = try await list(folder, isRecursive: isRecursive, after: next)
            objects += part.objects
            next = part.next
            if next == nil { break }
        }
        #expect(next == nil)
        return objects.sorted { $0.key.path < $1.key.path }
    }
}

/// The code of the error that the body throws, or nil if it does not throw.
func code(_ body: () async throws -> some Any) async -> RemoteError.Code? {
    do {
        _ = try await body()
        return nil
    } catch let error as RemoteError {
        return error.code
    } catch {
        return RemoteError.Code("\(error)")
    }
}

/// Fails unless the body throws an error with this code. The failure names the error that was thrown.
func expect(
    _ code: RemoteError.Code,
    _ comment: Comment? = nil,
    at location: SourceLocation = #_sourceLocation,
    _ body: () async throws -> some Any
) async {
    do {
        let result = try await body()
        Issue.record("\(comment?.rawValue ?? "") no \(code) but \(result)", sourceLocation: location)
    } catch let error as RemoteError {
        guard error.code != code else { return }
        Issue.record("\(comment?.rawValue ?? "") no \(code) but \(error)", sourceLocation: location)
    } catch {
        Issue.record("\(comment?.rawValue ?? "") no \(code) but \(error)", sourceLocation: location)
    }
}

/// Pseudo-random bytes that depend only on the seed.
func bytes(_ count: Int, seed: UInt64 = 1) -> Data {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var data = Data(capacity: count + 8)
    while data.count < count {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        withUnsafeBytes(of: state) { data.append(contentsOf: $0) }
    }
    return data.prefix(count)
}
