import Foundation
public import Strata

/// Merges the changes of both sides since their common ancestor: here (local) and at the remote.
///
/// A change of only one side is applied. Sets, dictionaries, arrays and the properties of records are merged element by
/// element. If both sides have changed the same element differently, the remote's value wins, so that all merging
/// machines get the same result.
public enum ThreeWayMerge {
    /// Merges a value as a whole.
    public static func value<Value: Equatable>(original: Value, local: Value, remote: Value) -> Value {
        remote == original ? local : remote
    }

    /// Merges an optional value as a whole. Texts are compared by their UTF-8 bytes.
    public static func value<Value: AttributeValue>(original: Value?, local: Value?, remote: Value?) -> Value? {
        Value._$isSameOptional(remote, original) ? local : remote
    }

    /// Merges a value as a whole. Texts are compared by their UTF-8 bytes.
    public static func value<Value: AttributeValue>(original: Value, local: Value, remote: Value) -> Value {
        Value.isSame(remote, original) ? local : remote
    }

    /// Merges a set. The result contains the members that either side has added, and lacks the members that either side
    /// has removed.
    public static func set<Element: Hashable>(
        original: Set<Element>,
        local: Set<Element>,
        remote: Set<Element>
    ) -> Set<Element> {
        remote.union(local.subtracting(original)).subtracting(original.subtracting(local))
    }

    /// Merges a dictionary key by key. If one side has removed a value and the other has changed it, the remote's side
    /// wins.
    public static func dictionary<Key: Hashable, Value: Equatable>(
        original: [Key: Value],
        local: [Key: Value],
        remote: [Key: Value]
    ) -> [Key: Value] {
        dictionary(original: original, local: local, remote: remote) { _, _, remote in remote }
    }

    /// Merges a dictionary key by key. The closure merges a value that both sides have and have changed.
    static func dictionary<Key: Hashable, Value: Equatable>(
        original: [Key: Value],
        local: [Key: Value],
        remote: [Key: Value],
        _ both: (Value?, Value, Value) -> Value
    ) -> [Key: Value] {
        var merged = remote
        for key in Set(original.keys).union(local.keys) {
            let (before, mine, theirs) = (original[key], local[key], remote[key])
            if mine == before || mine == theirs { continue }
            if theirs == before {
                merged[key] = mine
            } else if let mine, let theirs {
                merged[key] = both(before, mine, theirs)
            }
        }
        return merged
    }

    /// Merges an array element by element. The count of each element follows from the additions and removals of both
    /// sides; an identical change on both sides counts once. The result has the remote's order. An element that was
    /// added locally follows the element that precedes it locally.
    public static func array<Element: Hashable>(
        original: [Element],
        local: [Element],
        remote: [Element]
    ) -> [Element] {
        if local == original { return remote }
        if remote == original { return local }
        var counts = counts(of: remote)
        let (before, mine, theirs) = (Self.counts(of: original), Self.counts(of: local), counts)
        for element in Set(before.keys).union(mine.keys) {
            let (then, here, there) = (before[element] ?? 0, mine[element] ?? 0, theirs[element] ?? 0)
            counts[element] = here == there ? here : max(0, there + here - then)
        }
        // The remote's elements that stay. Of equal elements, the last ones are dropped first.
        var left = counts
        var merged: [Element] = []
        for element in remote where left[element, default: 0] > 0 {
            left[element, default: 0] -= 1
            merged.append(element)
        }
        // The remaining elements were added locally.
        var places: [Element: Int] = [:]
        for (index, element) in merged.enumerated() { places[element] = index }
        var additions: [Int: [Element]] = [:]
        var place = -1
        for element in local {
            if left[element, default: 0] > 0, (mine[element] ?? 0) > (before[element] ?? 0) {
                left[element, default: 0] -= 1
                additions[place, default: []].append(element)
            } else if let index = places[element] {
                place = index
            }
        }
        var result = additions[-1] ?? []
        for (index, element) in merged.enumerated() { result += [element] + (additions[index] ?? []) }
        return result
    }

    /// Merges an array of texts, which are compared by their UTF-8 bytes.
    public static func array(original: [String], local: [String], remote: [String]) -> [String] {
        array(
            original: original.map(UTF8Text.init(_:)),
            local: local.map(UTF8Text.init(_:)),
            remote: remote.map(UTF8Text.init(_:))
        ).map(\.string)
    }

    private static func counts<Element: Hashable>(of elements: [Element]) -> [Element: Int] {
        elements.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    /// Merges records property by property, based on their JSON. Objects are merged key by key, arrays and sets element
    /// by element.
    ///
    /// - Throws: errors of encoding and decoding.
    /// - Complexity: O(size of the JSON).
    public static func record<Record: Codable>(original: Record, local: Record, remote: Record) throws -> Record {
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()
        // Each record is encoded inside an array, because not every decoder accepts a bare number or text as JSON.
        func tree(_ record: Record) throws -> JSONTree {
            try decoder.decode([JSONTree].self, from: encoder.encode([record]))[0]
        }
        let merged = JSONTree.merge(original: try tree(original), local: try tree(local), remote: try tree(remote))
        return try decoder.decode([Record].self, from: encoder.encode([merged]))[0]
    }
}

extension ShareList {
    /// Merges a share list that was changed on both sides.
    public static func merge(original: ShareList, local: ShareList, remote: ShareList) -> ShareList {
        ShareList(
            ThreeWayMerge.dictionary(original: original.shares, local: local.shares, remote: remote.shares) {
                original,
                local,
                remote in
                let original = original ?? Share(permissions: [])
                return Share(
                    permissions: ThreeWayMerge.set(
                        original: original.permissions,
                        local: local.permissions,
                        remote: remote.permissions
                    ),
                    key: ThreeWayMerge.value(original: original.key, local: local.key, remote: remote.key)
                )
            }
        )
    }
}
