/// The objects of a context by the numbers of their ids: one object per record.
///
/// Open addressing with linear probing, since a look-up is on the path of every fetched row. Objects are held strongly,
/// and let go by ``sweep()`` when nobody else holds them: a count of references that is one cannot be raised by any other
/// thread, whereas a reference that does not count may be read while its object goes away on another thread.
struct IdentityMap: ~Copyable {
    private var keys: UnsafeMutablePointer<Int64>
    private var objects: UnsafeMutablePointer<AnyObject?>
    private var mask: Int
    private(set) var count = 0
    /// At how many objects the next sweep is due.
    private var threshold = 1024

    init() {
        mask = 15
        (keys, objects) = Self.allocate(16)
    }

    deinit { Self.free(keys, objects, mask + 1) }

    private static func allocate(_ size: Int) -> (UnsafeMutablePointer<Int64>, UnsafeMutablePointer<AnyObject?>) {
        let keys = UnsafeMutablePointer<Int64>.allocate(capacity: size)
        keys.initialize(repeating: 0, count: size)
        let objects = UnsafeMutablePointer<AnyObject?>.allocate(capacity: size)
        objects.initialize(repeating: nil, count: size)
        return (keys, objects)
    }

    private static func free(
        _ keys: UnsafeMutablePointer<Int64>,
        _ objects: UnsafeMutablePointer<AnyObject?>,
        _ size: Int
    ) {
        objects.deinitialize(count: size)
        objects.deallocate()
        keys.deallocate()
    }

    /// Fibonacci hashing: ids are handed out in order, and their products with this odd number are spread evenly.
    private func slot(of number: Int64) -> Int {
        Int(truncatingIfNeeded: (UInt64(bitPattern: number) &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
    }

    /// Complexity: O(1).
    subscript(number: Int64) -> AnyObject? {
        var slot = slot(of: number)
        while true {
            let key = keys[slot]
            if key == number { return objects[slot] }
            if key == 0 { return nil }
            slot = (slot + 1) & mask
        }
    }

    /// - Precondition: the number is not 0 and not in the map.
    mutating func insert(_ object: AnyObject, _ number: Int64) {
        if (count + 1) * 8 > (mask + 1) * 5 { resize((mask + 1) * 2) }
        place(object, number)
        count += 1
    }

    private func place(_ object: AnyObject, _ number: Int64) {
        var slot = slot(of: number)
        while keys[slot] != 0 { slot = (slot + 1) & mask }
        keys[slot] = number
        objects[slot] = object
    }

    private mutating func resize(_ size: Int) {
        let (oldKeys, oldObjects, oldSize) = (keys, objects, mask + 1)
        mask = size - 1
        (keys, objects) = Self.allocate(size)
        for slot in 0..<oldSize where oldKeys[slot] != 0 {
            if let object = oldObjects[slot] { place(object, oldKeys[slot]) }
        }
        Self.free(oldKeys, oldObjects, oldSize)
    }

    /// Whether enough objects have come since the last sweep for another one to pay.
    var isSweepDue: Bool { count >= threshold }

    /// Lets go of objects that nobody else holds. Complexity: O(size).
    mutating func sweep() {
        let (oldKeys, oldObjects, oldSize) = (keys, objects, mask + 1)
        var kept = 0
        for slot in 0..<oldSize where oldKeys[slot] != 0 {
            if isKnownUniquelyReferenced(&oldObjects[slot]) {
                oldObjects[slot] = nil
            } else {
                kept += 1
            }
        }
        var size = 16
        while kept * 2 > size { size *= 2 }
        mask = size - 1
        (keys, objects) = Self.allocate(size)
        count = kept
        for slot in 0..<oldSize {
            if let object = oldObjects[slot] { place(object, oldKeys[slot]) }
        }
        Self.free(oldKeys, oldObjects, oldSize)
        threshold = max(1024, kept * 2)
    }

    mutating func removeAll() {
        Self.free(keys, objects, mask + 1)
        mask = 15
        (keys, objects) = Self.allocate(16)
        count = 0
    }

    func forEach(_ body: (Int64, AnyObject) throws -> Void) rethrows {
        for slot in 0...mask where keys[slot] != 0 {
            if let object = objects[slot] { try body(keys[slot], object) }
        }
    }
}
