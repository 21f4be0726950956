internal import AsyncHTTPClient
import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
import StrataRemotes

extension RemoteError {
    /// Converts an error of the connection into a `RemoteError`, or into a `CancellationError` if the task was
    /// cancelled.
    static func ofConnection(_ error: any Error, host: String, key: RemoteKey?) -> any Error {
        switch error {
        case is CancellationError, is RemoteError: return error
        case let error as HTTPClientError: return ofClient(error, host: host, key: key)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            if case .uncleanShutdown? = error as? NIOSSLError { return answerLost(error, host: host, key: key) }
            if isCutHandshake(error) { return unreachable(error, host: host, key: key) }
            return RemoteError(
                .untrusted,
                "The certificate of \(host) is not trusted, or its TLS version is not supported.",
                key: key,
                underlying: error
            )
        case let error as IOError where isUnreachable(error.errnoCode): return unreachable(error, host: host, key: key)
        case let error as NIOConnectionError:
            return unreachable(error, host: host, key: key)
        case ChannelError.connectTimeout: return unreachable(error, host: host, key: key)
        case is HTTPParserError, is NIOHTTPDecoderError:
            if case .invalidEOFState? = error as? HTTPParserError { return answerLost(error, host: host, key: key) }
            return RemoteError(.malformedAnswer, "The answer of \(host) is not HTTP.", key: key, underlying: error)
        default: return answerLost(error, host: host, key: key)
        }
    }

    /// Whether the connection ended before the TLS handshake was complete. Such an error does not concern certificates.
    private static func isCutHandshake(_ error: any Error) -> Bool {
        let reason: BoringSSLError?
        if case .handshakeFailed(let handshake)? = error as? NIOSSLError {
            reason = handshake
        } else {
            reason = error as? BoringSSLError
        }
        switch reason {
        case .syscallError?, .zeroReturn?: return true
        case .sslError(let stack)?:
            return stack.contains(.eofDuringHandshake) || stack.contains(.eofDuringAdditionalCertficiateChainValidation)
        default: return false
        }
    }

    private static func ofClient(_ error: HTTPClientError, host: String, key: RemoteKey?) -> any Error {
        switch error {
        case .cancelled: return CancellationError()
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .socksHandshakeTimeout,
            .httpProxyHandshakeTimeout, .proxyAuthenticationRequired, .invalidProxyResponse:
            return unreachable(error, host: host, key: key)
        case .alreadyShutdown:
            return RemoteError(.misconfigured, "The connections to \(host) were closed.", key: key, underlying: error)
        case .invalidURL, .emptyHost, .emptyScheme:
            return RemoteError(
                .misconfigured,
                "A request to \(host) cannot be created: \(words(of: error))",
                key: key,
                underlying: error
            )
        case .bodyLengthMismatch:
            return RemoteError(
                .unreadableBody,
                "The body does not have the announced length.",
                key: key,
                underlying: error
            )
        default:
            return answerLost(error, host: host, key: key)
        }
    }

    private static func unreachable(_ error: any Error, host: String, key: RemoteKey?) -> RemoteError {
        RemoteError(.unreachable, "\(host) cannot be reached: \(words(of: error))", key: key, underlying: error)
    }

    private static func answerLost(_ error: any Error, host: String, key: RemoteKey?) -> RemoteError {
        RemoteError(
            .answerLost,
            "The connection to \(host) ended before the answer did: \(words(of: error))",
            key: key,
            underlying: error
        )
    }

    /// The error's description. NIO prints a closing bracket before the number of a system error without an opening
    /// one.
    private static func words(of error: any Error) -> String {
        "\(error)".replacing(") (errno: ", with: " (errno: ")
    }

    private static func isUnreachable(_ code: CInt) -> Bool {
        [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, EADDRNOTAVAIL].contains(code)
    }
}
