import Strata

/// The outcome of a save: success, or the code of an error with the objects and columns that it names.
struct SaveOutcome: Sendable, Equatable, CustomStringConvertible {
    var code: StrataError.Code?
    var places: Set<String> = []
    /// Comparisons ignore the error.
    var error: StrataError?

    static let success = SaveOutcome()

    static func conflict<Object: Model>(_ id: ObjectID<Object>, _ columns: String...) -> SaveOutcome {
        SaveOutcome(code: .conflict, places: Set(columns.map { "\(id.rawValue).\($0)" }))
    }

    init(code: StrataError.Code? = nil, places: Set<String> = []) {
        self.code = code
        self.places = places
    }

    init(_ body: () throws -> Void) {
        do {
            try body()
            self.init()
        } catch let error as StrataError {
            self.init(error)
        } catch {
            self.init(code: StrataError.Code("\(error)"))
        }
    }

    init(_ error: StrataError) {
        code = error.code
        places = Set(error.details.map { "\($0.id).\($0.column ?? "")" })
        self.error = error
    }

    static func == (left: SaveOutcome, right: SaveOutcome) -> Bool {
        left.code == right.code && left.places == right.places
    }

    var description: String {
        code.map { "\($0) \(places.sorted())" } ?? "success"
    }
}
