/// The live objects of a context by type and id number: one object per record.
///
/// Rows of two models may have the same number, for example a queued operation and its entry among the finished
/// operations.
///
/// The map uses open addressing with linear probing, because every fetched row requires a look-up. The map holds its
/// objects strongly. ``sweep()`` releases the objects that no other code holds. Strong references are safe here: if an
/// object's reference count is one, no other thread can raise it. A weak or unowned reference, in contrast, may be read
/// while another thread deallocates the object.
struct IdentityMap: ~Copyable {
    /// A key and its object next to each other, so that a look-up touches one cache line.
    private struct Slot {
        /// 0 if the slot is free.
        var number: Int64 = 0
        var object: AnyObject?
    }

    private var slots: UnsafeMutablePointer<Slot>
    /// The number of slots, a power of two, minus one.
    private var mask: Int
    private var shift: UInt64 { UInt64(truncatingIfNeeded: mask.leadingZeroBitCount) }
    private(set) var count = 0
    /// The number of objects at which the next sweep is due.
    private var threshold = 1024
    /// The minimum number of slots that a sweep leaves, if the map had that many: enough for the objects that are added
    /// before the next sweep.
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

    /// - Precondition: the number is not 0, and the map does not contain an object of this type with the number.
    mutating func insert(_ object: AnyObject, _ number: Int64) {
        if (count + 1) * 8 > (mask + 1) * 5 { resize((mask + 1) * 2) }
        // A free slot holds no object to release.
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
            // A moved object keeps its reference count. A free slot holds no object to release.
            (slots + freeSlot(for: old[slot].number)).moveInitialize(from: old + slot, count: 1)
            (old + slot).initialize(to: Slot())
        }
        Self.free(old, oldSize)
    }

    /// Whether enough objects were added since the last sweep to make another one worthwhile.
    var isSweepDue: Bool { count >= threshold }

    /// Removes the objects that no other code holds and returns them.
    ///
    /// The objects are deallocated with the result and not during the sweep, because their deinitializers may call this
    /// map again.
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
            // The map keeps room for the objects that are added before the next sweep. Otherwise an iteration over many
            // objects would grow the map again after each sweep.
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
