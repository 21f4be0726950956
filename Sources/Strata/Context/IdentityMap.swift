/// The objects of a context by the numbers of their ids and their types: one object per record.
///
/// Rows of two models may have the same number: what was queued and what is done with, say.
///
/// Open addressing with linear probing, since a look-up is on the path of every fetched row. Objects are held strongly,
/// and let go by ``sweep()`` when nobody else holds them: a count of references that is one cannot be raised by any other
/// thread, whereas a reference that does not count may be read while its object goes away on another thread.
struct IdentityMap: ~Copyable {
    /// A key and its object beside each other: a look-up touches one line of the cache.
    private struct Slot {
        /// 0 where the slot is free.
        var number: Int64 = 0
        var object: AnyObject?
    }

    private var slots: UnsafeMutablePointer<Slot>
    /// The number of slots, a power of two, less one.
    private var mask: Int
    private var shift: UInt64 { UInt64(truncatingIfNeeded: mask.leadingZeroBitCount) }
    private(set) var count = 0
    /// At how many objects the next sweep is due.
    private var threshold = 1024
    /// How many slots a sweep leaves at least, if there were so many: enough for the objects before the next one.
    private static var keptSize: Int { 2048 }

    init() {
        mask = 15
        slots = Self.allocate(16)
    }

    deinit { Self.free(slots, mask + 1) }

    private static func allocate(_ size: Int) -> UnsafeMutablePointer<Slot> {
        let slots = UnsafeMutablePointer<Slot>.allocate(capacity: size)
        slots.initialize(repeating: Slot(), count: size)
        return slots
    }

    private static func free(_ slots: UnsafeMutablePointer<Slot>, _ size: Int) {
        slots.deinitialize(count: size)
        slots.deallocate()
    }

    private func slot(of number: Int64) -> Int { number.hashSlot(shift) }

    /// Complexity: O(1).
    @inline(__always)
    subscript(number: Int64, type: AnyObject.Type) -> AnyObject? {
        var slot = slot(of: number)
        while true {
            let key = slots[slot].number
            if key == number, let object = slots[slot].object, Swift.type(of: object) == type { return object }
            if key == 0 { return nil }
            slot = (slot + 1) & mask
        }
    }

    /// - Precondition: the number is not 0 and not in the map with an object of this type.
    mutating func insert(_ object: AnyObject, _ number: Int64) {
        if (count + 1) * 8 > (mask + 1) * 5 { resize((mask + 1) * 2) }
        // A free slot holds nothing that would have to be let go.
        (slots + freeSlot(for: number)).initialize(to: Slot(number: number, object: object))
        count += 1
    }

    private func freeSlot(for number: Int64) -> Int {
        var slot = slot(of: number)
        while slots[slot].number != 0 { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func resize(_ size: Int) {
        let (old, oldSize) = (slots, mask + 1)
        mask = size - 1
        slots = Self.allocate(size)
        for slot in 0..<oldSize where old[slot].object != nil {
            // What is moved is not counted again. A free slot holds nothing that would have to be let go.
            (slots + freeSlot(for: old[slot].number)).moveInitialize(from: old + slot, count: 1)
            (old + slot).initialize(to: Slot())
        }
        Self.free(old, oldSize)
    }

    /// Whether enough objects have come since the last sweep for another one to pay.
    var isSweepDue: Bool { count >= threshold }

    /// Takes out the objects that nobody else holds. They go away where the result does, and not in the midst of this: what
    /// they do then may come back here.
    ///
    /// Complexity: O(size).
    mutating func sweep() -> [AnyObject] {
        guard count > 0 else { return [] }
        var released: [AnyObject] = []
        for slot in 0...mask where slots[slot].number != 0 {
            guard isKnownUniquelyReferenced(&slots[slot].object), let object = slots[slot].object.take() else {
                continue
            }
            released.append(object)
        }
        count -= released.count
        if !released.isEmpty {
            // Room for those that come before the next sweep is kept, so that a walk over many does not make it each time.
            var size = min(mask + 1, Self.keptSize)
            while count * 2 > size { size *= 2 }
            resize(size)
        }
        threshold = max(1024, count * 2)
        return released
    }

    func forEach(_ body: (Int64, AnyObject) throws -> Void) rethrows {
        for slot in 0...mask where slots[slot].number != 0 {
            if let object = slots[slot].object { try body(slots[slot].number, object) }
        }
    }
}

extension Int64 {
    /// Where an id is looked for first in a table of 2^(64 - shift) slots, of at least 16.
    ///
    /// Ids are handed out in order, and what was made together is used together: eight ids in a row share their place, so
    /// that they lie in one or two lines of the cache. The places are spread by Fibonacci hashing: the upper bits of products
    /// with this odd number.
    @inline(__always)
    func hashSlot(_ shift: UInt64) -> Int {
        let bits = UInt64(bitPattern: self)
        let place = ((bits &>> 3) &* 0x9E37_79B9_7F4A_7C15) &>> (shift + 3)
        return Int(truncatingIfNeeded: place &<< 3 | bits & 7)
    }
}
