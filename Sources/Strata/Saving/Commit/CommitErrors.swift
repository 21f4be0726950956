/// The errors of saves, commits and batches that name the rows concerned.
extension CommitJob {
    static func deniedError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .deleteDenied,
            "A delete rule forbids deleting objects that other objects still refer to.",
            details: details
        )
    }

    static func validationError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(.validation, "Nothing was saved: values violate the rules of the models.", details: details)
    }

    static func conflictError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .conflict,
            "Nothing was saved: another context or process has changed the same columns in the meantime. Roll the "
                + "objects back, or save with another merge policy.",
            details: details
        )
    }

    static func notUniqueError(_ details: [StrataError.Detail], underlying: (any Error)? = nil) -> StrataError {
        StrataError(
            .notUnique,
            "Nothing was saved: a value that must be unique already exists.",
            details: details,
            underlying: underlying
        )
    }

    static func missingReferenceError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .missingReference,
            "Nothing was saved: relationships refer to objects that do not exist.",
            details: details
        )
    }
}
