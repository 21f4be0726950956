import Foundation

/// The server cannot listen on a port.
public struct PortError: Error, CustomStringConvertible {
    let port: Int
    /// The system's error number.
    let code: Int32

    public var description: String {
        switch code {
        case EADDRINUSE: "port \(port) is used by another program"
        case EACCES: "port \(port) needs administrator rights"
        default: "port \(port) cannot be listened on: \(String(cString: strerror(code)))"
        }
    }
}
