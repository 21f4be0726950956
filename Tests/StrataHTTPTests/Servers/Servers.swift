import Foundation

/// The servers of a test run. Each one starts when a test first needs it, and all tests share it.
actor Servers {
    static let shared = Servers()

    private var running: [String: Task<ServerProcess, any Error>] = [:]

    func server(_ name: String, _ start: @escaping @Sendable () async throws -> ServerProcess) async throws
        -> ServerProcess
    {
        if let task = running[name] { return try await task.value }
        let task = Task { try await start() }
        running[name] = task
        return try await task.value
    }

    nonisolated func ministack() async throws -> ServerProcess {
        try await server("ministack") {
            // The server takes its port from the environment, which a shell sets.
            try await ServerProcess("ministack", environment: ["BIND_HOST": "127.0.0.1", "SERVICES": "s3"]) { port, _ in
                ["/usr/bin/env", "GATEWAY_PORT=\(port)", try Program.find("ministack")]
            }
        }
    }

    nonisolated func moto() async throws -> ServerProcess {
        try await server("moto") {
            try await ServerProcess("moto") { port, _ in
                [try Program.find("moto_server"), "-H", "127.0.0.1", "-p", "\(port)"]
            }
        }
    }

    nonisolated func lighttpd() async throws -> ServerProcess {
        try await server("lighttpd") {
            try await ServerProcess("lighttpd") { port, folder in
                let root = folder.appending(path: "root")
                try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
                let configuration = """
                    server.modules = ( "mod_webdav", "mod_staticfile" )
                    server.bind = "127.0.0.1"
                    server.port = \(port)
                    server.document-root = "\(root.path)"
                    mimetype.assign = ( "" => "application/octet-stream" )
                    webdav.activate = "enable"
                    """
                let file = folder.appending(path: "lighttpd.conf")
                try configuration.write(to: file, atomically: true, encoding: .utf8)
                return [try Program.find("lighttpd"), "-D", "-f", file.path]
            }
        }
    }

    /// Apache with the setup of Debian, and with the module that redirects a collection to the same path with a slash.
    nonisolated func apache() async throws -> ServerProcess {
        try await server("apache") {
            try await ServerProcess("apache") { port, folder in
                let root = folder.appending(path: "root")
                try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
                let places = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/libexec/apache2"]
                guard let modules = places.first(where: { FileManager.default.fileExists(atPath: "\($0)/mod_dav.so") })
                else { throw ServerMissing("Apache has no mod_dav: apache2-bin of Debian has it.") }
                var configuration = """
                    ServerRoot "\(folder.path)"
                    Listen 127.0.0.1:\(port)
                    ServerName localhost
                    PidFile "\(folder.path)/pid"
                    ErrorLog "\(folder.path)/errors"
                    DocumentRoot "\(root.path)"
                    DavLockDB "\(folder.path)/locks"
                    <Directory "\(root.path)">
                      Dav On
                      FileETag Digest
                      Require all granted
                    </Directory>

                    """
                // Debian builds some of these modules in, so their files do not exist.
                for name in ["dav_fs", "dav", "dir", "authz_core", "unixd", "mpm_event"] {
                    let module = "\(modules)/mod_\(name).so"
                    guard FileManager.default.fileExists(atPath: module) else { continue }
                    configuration = "LoadModule \(name)_module \(module)\n" + configuration
                }
                if getuid() == 0 {
                    // Apache refuses to run as the superuser.
                    configuration += "User nobody\nGroup #65534\n"
                    for open in [folder, root] {
                        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: open.path)
                    }
                }
                let file = folder.appending(path: "apache.conf")
                try configuration.write(to: file, atomically: true, encoding: .utf8)
                let program = try (try? Program.find("apache2")) ?? Program.find("httpd")
                // Apache runs as one process, which ends when it is killed.
                return [program, "-X", "-f", file.path]
            }
        }
    }

    nonisolated func ceph() async throws -> ServerProcess {
        try await server("ceph") {
            for program in ["ceph-mon", "ceph-mgr", "ceph-osd", "radosgw", "ceph"] { _ = try Program.find(program) }
            return try await ServerProcess("ceph", endsItself: true) { port, folder in
                let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "ceph.sh").path
                return [script, "\(port)", folder.path, "\(try Loopback.freePort())"]
            }
        }
    }

    nonisolated func nginx() async throws -> ServerProcess {
        try await server("nginx") {
            try await ServerProcess("nginx") { port, folder in
                let root = folder.appending(path: "root")
                try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
                let module = "/usr/lib/nginx/modules/ngx_http_dav_ext_module.so"
                guard FileManager.default.fileExists(atPath: module) else {
                    throw ServerMissing("nginx has no module for PROPFIND: libnginx-mod-http-dav-ext")
                }
                let configuration = """
                    load_module "\(module)"; daemon off; master_process off; pid "\(folder.path)/pid"; error_log "\(folder.path)/errors";
                    \(getuid() == 0 ? "user root;" : "")
                    events { }
                    http {
                        access_log off; client_max_body_size 0; client_body_temp_path "\(folder.path)/bodies";
                        server {
                            listen 127.0.0.1:\(port); root "\(root.path)";
                            location / { dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; }
                        }
                    }
                    """
                let file = folder.appending(path: "nginx.conf")
                try configuration.write(to: file, atomically: true, encoding: .utf8)
                return [try Program.find("nginx"), "-p", folder.path, "-c", file.path]
            }
        }
    }
}
