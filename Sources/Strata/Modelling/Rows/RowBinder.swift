import CStrataSQLite
public import Foundation

/// Binds the values of a row to a statement's parameters, by position. Used by code that `@Model` generates.
///
/// The binder copies texts into a buffer that it reuses from row to row, and tells SQLite that the memory is static.
/// SQLite then does not allocate a copy of each text. The texts stay valid until the binder is reset after the step.
@_documentation(visibility: internal)
public struct RowBinder {
    let statement: OpaquePointer
    private let buffer: BindBuffer

    init(statement: OpaquePointer, buffer: BindBuffer) {
        self.statement = statement
        self.buffer = buffer
    }

    /// Binds an integer.
    public func bind(_ value: Int64, at index: Int32) throws { sqlite3_bind_int64(statement, index, value) }
    /// Binds an integer.
    public func bind(_ value: Int, at index: Int32) throws { sqlite3_bind_int64(statement, index, Int64(value)) }
    /// Binds a number.
    public func bind(_ value: Double, at index: Int32) throws { sqlite3_bind_double(statement, index, value) }
    /// Binds a Boolean, as 0 or 1.
    public func bind(_ value: Bool, at index: Int32) throws { sqlite3_bind_int64(statement, index, value ? 1 : 0) }

    /// Binds a date, as seconds since 2001.
    public func bind(_ value: Date, at index: Int32) throws {
        sqlite3_bind_double(statement, index, value.timeIntervalSinceReferenceDate)
    }

    /// Binds a text.
    public func bind(_ value: String, at index: Int32) throws {
        // Native strings are already UTF-8; strings bridged from Objective-C may not be.
        if try value.utf8.withContiguousStorageIfAvailable({ try bind(utf8: $0, at: index) }) == nil {
            try Array(value.utf8).withUnsafeBufferPointer { try bind(utf8: $0, at: index) }
        }
    }

    @inline(__always)
    private func bind(utf8: UnsafeBufferPointer<UInt8>, at index: Int32) throws {
        let copy = buffer.copy(UnsafeRawBufferPointer(utf8))
        try check(sqlite3_bind_text64(statement, index, copy, UInt64(utf8.count), nil, UInt8(SQLITE_UTF8)))
    }

    /// Throws if SQLite refuses a value that is too large. Otherwise, the parameter would be NULL.
    @inline(__always)
    private func check(_ code: Int32) throws {
        if code != SQLITE_OK { throw refusal(code) }
    }

    @inline(never)
    private func refusal(_ code: Int32) -> StrataError {
        StrataError(sqlite: code, connection: sqlite3_db_handle(statement))
    }

    // The generic functions are compiled into the code of each model. Otherwise each call would look up the metadata of
    // the value's type.

    /// Binds a value in the form in which its type stores it.
    @inlinable
    public func bind(_ value: some AttributeValue, at index: Int32) throws {
        try bind(stored: try value.storedValue, at: index)
    }

    /// Binds a text or NULL.
    public func bind(_ value: String?, at index: Int32) throws {
        if let value { try bind(value, at: index) } else { bindNull(at: index) }
    }

    /// Binds a value, in the form in which its type stores it, or NULL.
    @inlinable
    public func bind(_ value: (some AttributeValue)?, at index: Int32) throws {
        if let value { try bind(value, at: index) } else { bindNull(at: index) }
    }

    /// Binds the number of an id or NULL.
    @inlinable
    public func bind<Object: Model>(_ id: ObjectID<Object>?, at index: Int32) throws {
        if let id { try bind(id, at: index) } else { bindNull(at: index) }
    }

    /// Binds the number of an id.
    public func bind<Object: Model>(_ id: ObjectID<Object>, at index: Int32) throws {
        if buffer.checkedIdentity != nil { try check(id) }
        sqlite3_bind_int64(statement, index, id.rawValue)
    }

    /// Refuses an id that the store does not know. The id of an object that is not inserted counts as missing, not as
    /// foreign.
    @inline(never)
    private func check<Object: Model>(_ id: ObjectID<Object>) throws {
        guard let identity = buffer.checkedIdentity, id.isAssigned,
            !identity.knows(fingerprint: id.fingerprint, number: id.rawValue)
        else { return }
        throw StrataError(
            .idOfOtherStore,
            "Nothing was changed: a row refers to \(id), which belongs to another store. Relate it to an object of "
                + "this store."
        )
    }

    @usableFromInline
    func bindNull(at index: Int32) { sqlite3_bind_null(statement, index) }

    @usableFromInline
    func bind(stored value: StoredValue, at index: Int32) throws {
        switch value {
        case .null: bindNull(at: index)
        case .integer(let value): sqlite3_bind_int64(statement, index, value)
        case .real(let value): sqlite3_bind_double(statement, index, value)
        case .text(let value): try bind(value, at: index)
        case .blob(let data):
            try data.withUnsafeBytes { bytes in
                let copy = buffer.copy(bytes)
                try check(sqlite3_bind_blob64(statement, index, copy, UInt64(bytes.count), nil))
            }
        }
    }
}

/// Memory for the texts and blobs of one row while SQLite reads them. It grows in chunks, which never move.
final class BindBuffer {
    // Unchecked exclusivity is safe: one thread at a time uses a statement, and no code in this class calls back into
    // it.
    @exclusivity(unchecked) private var chunks: [UnsafeMutableRawBufferPointer]
    @exclusivity(unchecked) private var current = 0
    @exclusivity(unchecked) private var used = 0
    /// The number of bytes that were copied into earlier chunks than the current one.
    @exclusivity(unchecked) private var usedBefore = 0
    /// The store that the ids in rows must belong to; set if the rows may come from another store.
    @exclusivity(unchecked) var checkedIdentity: StoreIdentity?

    init() { chunks = [.allocate(byteCount: 512, alignment: 16)] }

    deinit {
        for chunk in chunks { chunk.deallocate() }
    }

    /// Frees the copies, and returns the number of their bytes. The copies must not be read afterwards.
    func reset() -> Int {
        let count = usedBefore + used
        // The last chunk is the largest. Memory for a rare large blob is not kept.
        if current > 0, chunks[chunks.count - 1].count > Self.keptCount {
            for chunk in chunks.dropFirst() { chunk.deallocate() }
            chunks.removeSubrange(1...)
        }
        current = 0
        used = 0
        usedBefore = 0
        return count
    }

    /// The maximum size of a chunk that is kept from row to row, in bytes.
    private static let keptCount = 1 << 20

    /// A copy that does not move until ``reset()``; never nil, because SQLite treats a null pointer as NULL.
    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<CChar> {
        if chunks[current].count - used < bytes.count { makeRoom(for: bytes.count) }
        let place = chunks[current].baseAddress! + used  // a chunk is never empty
        if let source = bytes.baseAddress { place.copyMemory(from: source, byteCount: bytes.count) }
        used += bytes.count
        return place.assumingMemoryBound(to: CChar.self)
    }

    private func makeRoom(for count: Int) {
        usedBefore += used
        used = 0
        while current + 1 < chunks.count {
            current += 1
            if chunks[current].count >= count { return }
        }
        chunks.append(.allocate(byteCount: max(count, chunks[current].count * 2), alignment: 16))
        current = chunks.count - 1
    }
}
