import BenchFigures
import Foundation

/// Runs rows, reference and subject in turns, and holds their results together.
struct Runner {
    let sizes: Sizes
    let values: Values
    let folder: URL

    /// Measures a row for one subject: A B, B A, A B… and nothing is dropped.
    ///
    /// - Parameter rounds: how often each side does the work; nil for the rounds of the sizes.
    func measure(
        _ row: Row,
        _ name: String,
        target: Double?,
        subject: Side,
        rounds: Int? = nil
    ) async throws -> Outcome {
        var subjects: [Double] = []
        var references: [Double] = []
        for round in 0..<(rounds ?? sizes.rounds) {
            let isReferenceFirst = round.isMultiple(of: 2)
            var samples: [Bool: Sample] = [:]
            for isReference in [isReferenceFirst, !isReferenceFirst] {
                samples[isReference] = try await sample(isReference ? row.reference : subject, name)
            }
            guard let mine = samples[false], let theirs = samples[true] else { continue }
            if let found = mine.check, let expected = theirs.check, found != expected {
                throw BenchError("\(name): unequal work. Subject: \(found); reference: \(expected)")
            }
            let factor = row.unit.scale / Double(row.operations)
            subjects.append(mine.cost * factor)
            references.append(theirs.cost * factor)
        }
        return Outcome(
            name: name,
            unit: row.unit,
            target: target,
            subject: Spread(subjects),
            reference: Spread(references)
        )
    }

    private func sample(_ side: Side, _ name: String) async throws -> Sample {
        let own = folder.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: own) }
        do {
            return try await side(Round(folder: own, sizes: sizes, values: values))
        } catch let error as BenchError {
            throw error
        } catch {
            throw BenchError("\(name): \(error)")
        }
    }
}
