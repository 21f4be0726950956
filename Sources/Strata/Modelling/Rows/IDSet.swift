/// An immutable set of ids. It uses open addressing with linear probing, like ``IdentityMap``.
struct IDSet {
    /// The slots; 0 marks a free slot, because no row has the id 0.
    private let slots: [Int64]
    private let shift: UInt64
    private let bounds: ClosedRange<Int64>?

    /// - Parameter numbers: in ascending order.
    init(_ numbers: [Int64]) {
        bounds = numbers.first.flatMap { first in numbers.last.map { first...$0 } }
        var size = 16
        while size < numbers.count * 2 { size *= 2 }
        shift = UInt64(64 - size.trailingZeroBitCount)
        var slots = [Int64](repeating: 0, count: size)
        for number in numbers {
            var slot = number.hashSlot(shift)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = number
        }
        self.slots = slots
    }

    /// Complexity: O(1).
    func contains(_ number: Int64) -> Bool {
        guard let bounds, bounds.contains(number), number != 0 else { return false }
        return slots.withUnsafeBufferPointer { slots in
            var slot = number.hashSlot(shift)
            while slots[slot] != 0 {
                if slots[slot] == number { return true }
                slot = (slot + 1) & (slots.count - 1)
            }
            return false
        }
    }
}

extension Int64 {
    /// The first slot to probe for an id in a table of 2^(64 - shift) slots, at least 16.
    ///
    /// Ids are assigned in order, and objects created together are used together. Eight consecutive ids therefore share
    /// a group of slots, so that they occupy one or two cache lines. Fibonacci hashing distributes the groups: the slot
    /// is given by the upper bits of a product with this odd number.
    @inline(__always)
    func hashSlot(_ shift: UInt64) -> Int {
        let bits = UInt64(bitPattern: self)
        let place = ((bits &>> 3) &* 0x9E37_79B9_7F4A_7C15) &>> (shift + 3)
        return Int(truncatingIfNeeded: place &<< 3 | bits & 7)
    }
}
