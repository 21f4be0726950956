/// The changes that a segment makes to the rows of one entity, sorted by id. Immutable.
final class Part<Row: StoredRow>: AnyPart {
    let numbers: [Int64]
    let changes: [Change<Row>]
    /// The kinds that occur in the changes.
    let kinds: ChangeKinds
    let lookups = PartLookups()
    /// The address of the changes. Nothing writes to the array, so it keeps them in place as long as this part lives.
    /// Access to a row through the array would look up its type each time.
    nonisolated(unsafe) private let places: UnsafeRawPointer?  // only read through
    private let stride: Int

    /// Creates a part from sorted changes.
    ///
    /// - Precondition: `numbers` ascend strictly, and have the same positions as their changes.
    /// - Parameter kinds: the kinds that occur, if they are known.
    init(numbers: [Int64], changes: [Change<Row>], _ kinds: ChangeKinds? = nil) {
        self.numbers = numbers
        self.changes = changes
        self.kinds = kinds ?? Self.kinds(of: changes)
        places = changes.withUnsafeBufferPointer { UnsafeRawPointer($0.baseAddress) }
        stride = MemoryLayout<Change<Row>>.stride
    }

    private static func kinds(of changes: [Change<Row>]) -> ChangeKinds {
        changes.withUnsafeBufferPointer { changes in
            var kinds: ChangeKinds = []
            for index in changes.indices { kinds.formUnion(ChangeKinds(changes[index].kind)) }
            return kinds
        }
    }

    /// Creates a part from changes in any order. Several changes of one row are combined, later ones on top of earlier
    /// ones.
    convenience init(unsorted changes: [Change<Row>]) {
        let numbers = changes.withUnsafeBufferPointer { changes in
            changes.indices.map { Row._$number(Change.rowPointer(changes.baseAddress! + $0)) }
        }
        self.init(unsorted: changes, numbers: numbers)
    }

    /// - Parameters:
    ///   - numbers: the numbers of the rows, in the order of the changes.
    ///   - kinds: the kinds that occur, if they are known.
    convenience init(unsorted changes: [Change<Row>], numbers: [Int64], _ kinds: ChangeKinds? = nil) {
        if numbers.isStrictlyAscending {
            self.init(numbers: numbers, changes: changes, kinds)
            return
        }
        let order = numbers.indices.sorted { (numbers[$0], $0) < (numbers[$1], $1) }
        var ascending: [Int64] = []
        var sorted: [Change<Row>] = []
        for index in order {
            if ascending.last == numbers[index] {
                sorted[sorted.count - 1] = sorted[sorted.count - 1].followed(by: changes[index])
            } else {
                ascending.append(numbers[index])
                sorted.append(changes[index])
            }
        }
        self.init(numbers: ascending, changes: sorted)
    }

    var count: Int { numbers.count }

    /// The position of a row's change. Complexity: O(log count).
    func index(of number: Int64) -> Int? { numbers.sortedIndex(of: number) }

    var numberSet: NumberSet { lookups.numberSet(of: numbers) }

    func places(ofRowsLike values: [StoredValue], in columns: [Int]) -> [Int] {
        lookups.places(ofRowsLike: values, in: columns, of: self)
    }

    subscript(number: Int64) -> Change<Row>? { index(of: number).map { changes[$0] } }

    func kind(at index: Int) -> ChangeKind { changes.withUnsafeBufferPointer { $0[index].kind } }

    func changes(_ column: Int) -> Bool {
        changes.withUnsafeBufferPointer { changes in changes.indices.contains { changes[$0].columns.contains(column) } }
    }

    func value(at index: Int, column: Int) throws -> StoredValue {
        precondition(numbers.indices.contains(index))
        let place = places.unsafelyUnwrapped + index * stride  // the array is not empty, so it has an address
        return try Row._$value(place.assumingMemoryBound(to: Row.self), at: column)  // the row has its change's address
    }

    func followed(by newer: any AnyPart) -> any AnyPart { merged(with: newer.typed(Row.self)) { $0.followed(by: $1) } }

    /// This part with a newer one on top. `combine` receives the changes of rows that are in both parts, the older one
    /// first.
    ///
    /// Complexity: O(count + newer.count).
    func merged(with newer: Part<Row>, _ combine: (Change<Row>, Change<Row>) -> Change<Row>) -> Part<Row> {
        var numbers: [Int64] = []
        var merged: [Change<Row>] = []
        numbers.reserveCapacity(count + newer.count)
        merged.reserveCapacity(count + newer.count)
        var (left, right) = (0, 0)
        while left < count || right < newer.count {
            if right == newer.count || (left < count && self.numbers[left] < newer.numbers[right]) {
                numbers.append(self.numbers[left])
                merged.append(changes[left])
                left += 1
            } else if left == count || newer.numbers[right] < self.numbers[left] {
                numbers.append(newer.numbers[right])
                merged.append(newer.changes[right])
                right += 1
            } else {
                numbers.append(self.numbers[left])
                merged.append(combine(changes[left], newer.changes[right]))
                left += 1
                right += 1
            }
        }
        return Part(numbers: numbers, changes: merged)
    }
}

/// A ``Part`` of any entity.
protocol AnyPart: AnyObject, Sendable {
    var numbers: [Int64] { get }
    var kinds: ChangeKinds { get }
    /// The numbers as a set.
    var numberSet: NumberSet { get }
    func index(of number: Int64) -> Int?
    /// The positions of rows whose columns hold these values, in ascending order. The result may contain other rows,
    /// too.
    ///
    /// Complexity: O(found), the first time O(rows).
    func places(ofRowsLike values: [StoredValue], in columns: [Int]) -> [Int]
    func kind(at index: Int) -> ChangeKind
    /// Whether one of the changes sets this column.
    func changes(_ column: Int) -> Bool
    func value(at index: Int, column: Int) throws -> StoredValue
    func forEachReference(in columns: [Int], _ body: (Int64) -> Void) -> Bool
    func followed(by newer: any AnyPart) -> any AnyPart
    /// The deletes that another version of this part lacks; nil if it lacks none.
    func deletes(missingIn current: (any AnyPart)?) -> (any AnyPart)?
    /// This part, with a newer part's changes replacing its own.
    func replacing(by newer: any AnyPart) -> any AnyPart
    func settle(_ record: CommitRecord, entity: Int, path: [Int], before: Layers, in layers: inout Layers)
    func settleSeen(_ numbers: [Int64], entity: Int, context: Int, in layers: inout Layers)
    func filtered(_ isKept: (Int64) -> Bool) -> (any AnyPart)?
    func settled(onOwn commit: any AnyPart) -> any AnyPart
    func rebaseRead(
        entity: Int,
        context: Int,
        _ schema: Schema,
        _ connection: Connection,
        in layers: inout Layers
    )
    func regain(entity: Int, context: Int, from older: Layers, in layers: inout Layers)
    func keepBroughtBack(entity: Int, context: Int, shownIn shown: Layers, in layers: inout Layers)
    func rebaseOnCommits(_ commits: [any AnyPart], entity: Int, context: Int, in layers: inout Layers)
    func rebase(onto path: [Int], entity: Int, context: Int, in layers: inout Layers)
    func rebaseAbove(entity: Int, context: Int, in layers: inout Layers)
    /// This part with redirected references; nil if it has none of them.
    func moving(_ references: [MovedReferences]) -> (any AnyPart)?
}

extension AnyPart {
    /// The part with its concrete type. Parts are stored by the index of their entity, which determines the type.
    func typed<Row: StoredRow>(_ type: Row.Type) -> Part<Row> { unsafeDowncast(self, to: Part<Row>.self) }
}

extension [Int64] {
    fileprivate var isStrictlyAscending: Bool {
        withUnsafeBufferPointer { numbers in
            var last = Int64.min
            for number in numbers {
                if number <= last { return false }
                last = number
            }
            return true
        }
    }

    /// The common elements of two ascending arrays, ascending. Complexity: O(shorter · log longer).
    func shared(with other: [Int64]) -> LazyFilterSequence<[Int64]> {
        let (few, many) = count < other.count ? (self, other) : (other, self)
        return few.lazy.filter { many.sortedIndex(of: $0) != nil }
    }

    /// The position of a number in an ascending array. Complexity: O(log count).
    func sortedIndex(of number: Int64) -> Int? {
        guard let first, let last, first <= number, number <= last else { return nil }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == number ? low : nil
    }
}
