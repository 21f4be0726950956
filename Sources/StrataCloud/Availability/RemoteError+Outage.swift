extension RemoteError {
    /// Whether the error is about the remote or the connection to it, and not about the request: the same request may
    /// well succeed later, and no other request does better now.
    var isOfRemote: Bool {
        switch code {
        case .unreachable, .answerLost, .throttled: true
        // The server has waited in vain for the rest of a request, a gateway does not reach its upstream server, or the
        // server is overloaded (RFC 9110, 15.6).
        case .unavailable: retryAfter != nil || status.map { [408, 502, 503, 504].contains($0) } ?? false
        default: false
        }
    }

    /// Whether the server itself has asked to be left alone.
    var isRefusalOfAll: Bool { isOfRemote && code != .unreachable && code != .answerLost }
}
