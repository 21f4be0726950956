#if os(Linux)
    import CStrataNetlink

    /// Bytes from the kernel, with bounds-checked access.
    struct NetlinkBytes {
        let bytes: ArraySlice<UInt8>
        private var start: Int

        init(_ bytes: ArraySlice<UInt8>) {
            self.bytes = bytes
            start = bytes.startIndex
        }

        // MARK: Numbers, in the order of the machine's bytes

        func uint8(at offset: Int) -> UInt8? { load(UInt8.self, at: offset) }
        func uint16(at offset: Int) -> UInt16? { load(UInt16.self, at: offset) }
        func uint32(at offset: Int) -> UInt32? { load(UInt32.self, at: offset) }
        func int32(at offset: Int) -> Int32? { load(Int32.self, at: offset) }

        private func load<Value: BitwiseCopyable>(_ type: Value.Type, at offset: Int) -> Value? {
            guard offset >= 0, offset + MemoryLayout<Value>.size <= bytes.count else { return nil }
            return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
        }

        private func part(_ offset: Int, _ end: Int) -> NetlinkBytes {
            NetlinkBytes(bytes[bytes.startIndex + offset..<bytes.startIndex + end])
        }

        // MARK: Structures

        /// The next message: `struct nlmsghdr` and its body.
        mutating func nextMessage() -> (type: UInt16, flags: UInt16, body: NetlinkBytes)? {
            let rest = NetlinkBytes(bytes[start...])
            let header = MemoryLayout<nlmsghdr>.size
            guard let length = rest.uint32(at: 0).map(Int.init), length >= header, length <= rest.bytes.count,
                let type = rest.uint16(at: 4), let flags = rest.uint16(at: 6)
            else { return nil }
            start = min(start + Self.aligned(length), bytes.endIndex)
            return (type, flags, rest.part(header, length))
        }

        /// The attributes after a structure of this size: each a `struct rtattr` and its value.
        func attributes(after size: Int) -> [(type: UInt16, value: NetlinkBytes)] {
            var result: [(type: UInt16, value: NetlinkBytes)] = []
            var offset = Self.aligned(size)
            let header = MemoryLayout<rtattr>.size
            while let length = uint16(at: offset).map(Int.init), let type = uint16(at: offset + 2), length >= header,
                offset + length <= bytes.count
            {
                // The two highest bits describe the layout of the value, so they are removed.
                result.append((type & 0x3FFF, part(offset + header, offset + length)))
                offset += Self.aligned(length)
            }
            return result
        }

        /// The usable links of a multipath route: each a `struct rtnexthop` and its attributes.
        var nextHops: [Int32] {
            var result: [Int32] = []
            var offset = 0
            while let length = uint16(at: offset).map(Int.init), let flags = uint8(at: offset + 2),
                let link = int32(at: offset + 4),
                length >= MemoryLayout<rtnexthop>.size, offset + length <= bytes.count
            {
                if UInt32(flags) & UInt32(RTNH_F_DEAD | RTNH_F_LINKDOWN) == 0 { result.append(link) }
                offset += Self.aligned(length)
            }
            return result
        }

        private static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
    }
#endif
