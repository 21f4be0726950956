import Hummingbird
import Strata
import StrataCloud
import StrataPipeline

/// A failure of a request, which a page reports.
struct ConsoleError: Error, Sendable {
    let status: HTTPResponse.Status
    /// What happened, to which object, and what to do.
    let message: String
    /// Whether the failure is unexpected, so that the log must have it.
    var isFault = false
    /// The methods that the address answers, for the header field `Allow`; nil if the method was not the reason.
    var allowedMethods: String?

    init(_ status: HTTPResponse.Status, _ message: String) { (self.status, self.message) = (status, message) }

    static func notFound(_ message: String) -> ConsoleError { ConsoleError(.notFound, message) }

    static func invalid(_ message: String) -> ConsoleError { ConsoleError(.badRequest, message) }

    static func forbidden(_ message: String) -> ConsoleError { ConsoleError(.forbidden, message) }

    /// The failure that an error means for a request.
    init(_ error: any Error) {
        switch error {
        case let error as ConsoleError: self = error
        case let error as StrataError: self.init(Self.status(of: error.code), error.message)
        case let error as PipelineError: self.init(Self.status(of: error.code), error.message)
        case let error as CloudError: self.init(Self.status(of: error.code), error.message)
        case is CancellationError: self.init(.serviceUnavailable, "The console is ending. Try again later.")
        default: self.init(.internalServerError, "The console has failed. Its log has the reason.")
        }
        if status == .internalServerError { isFault = true }
    }

    private static func status(of code: StrataError.Code) -> HTTPResponse.Status {
        switch code {
        case .busy, .diskFull, .closed: .serviceUnavailable
        case .readOnly: .forbidden
        case .conflict, .validation, .notUnique, .deleteDenied, .missingReference: .conflict
        case .idOfOtherStore, .unknownName, .unknownModel, .unopenedModel: .notFound
        case .invalidArgument, .invalidToken, .invalidQuery, .expiredToken: .badRequest
        default: .internalServerError
        }
    }

    private static func status(of code: PipelineError.Code) -> HTTPResponse.Status {
        switch code {
        case .unknownPipeline, .unknownSchedule, .modelsMissing, .noResult: .notFound
        case .invalidArgument, .invalidSchedule: .badRequest
        case .alreadyFinished, .leaseLost, .dependencyCycle: .conflict
        case .closed: .serviceUnavailable
        default: .internalServerError
        }
    }

    private static func status(of code: CloudError.Code) -> HTTPResponse.Status {
        switch code {
        case .noSuchAccount, .noSuchNode, .noSuchFolder, .modelsMissing: .notFound
        case .invalidName, .invalidPath: .badRequest
        case .removalUnfinished: .conflict
        case .closed: .serviceUnavailable
        default: .internalServerError
        }
    }
}
