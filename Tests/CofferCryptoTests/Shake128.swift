/// SHAKE-128 (FIPS 202), for tests whose inputs or results are defined by it. Absorb, then squeeze.
struct Shake128 {
    private var state = [UInt64](repeating: 0, count: 25)
    private var position = 0
    private var isSqueezing = false

    private static let rate = 168
    private static let rotations: [UInt64] = [
        1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44,
    ]
    private static let lanes = [
        10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1,
    ]
    /// The round constants, from the shift register that section 3.2.5 defines.
    private static let constants: [UInt64] = {
        var register: UInt8 = 1
        return (0..<24).map { _ in
            var constant: UInt64 = 0
            for power in 0...6 {
                if register & 1 == 1 { constant |= 1 << ((1 << UInt64(power)) - 1) }
                register = register & 0x80 == 0 ? register << 1 : register << 1 ^ 0x71
            }
            return constant
        }
    }()

    mutating func absorb(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { add(byte) }
    }

    mutating func squeeze(_ count: Int) -> [UInt8] {
        if !isSqueezing {
            isSqueezing = true
            state[position / 8] ^= 0x1f << UInt64(position % 8 * 8)
            state[20] ^= 0x80 << 56
            position = Self.rate
        }
        return (0..<count).map { _ in
            if position == Self.rate {
                permute()
                position = 0
            }
            defer { position += 1 }
            return UInt8(truncatingIfNeeded: state[position / 8] >> UInt64(position % 8 * 8))
        }
    }

    private mutating func add(_ byte: UInt8) {
        state[position / 8] ^= UInt64(byte) << UInt64(position % 8 * 8)
        position += 1
        if position == Self.rate {
            permute()
            position = 0
        }
    }

    /// Keccak-f[1600]. Loops of the plainest kind: it runs unoptimised, tens of thousands of times.
    private mutating func permute() {
        for round in 0..<24 {
            let (a, b, c) = (column(0), column(1), column(2))
            let (d, e) = (column(3), column(4))
            mix(0, e, b)
            mix(1, a, c)
            mix(2, b, d)
            mix(3, c, e)
            mix(4, d, a)
            var moved = state[1]
            var index = 0
            while index < 24 {
                let turn = Self.rotations[index]
                let next = state[Self.lanes[index]]
                state[Self.lanes[index]] = moved &<< turn | moved &>> (64 &- turn)
                moved = next
                index &+= 1
            }
            var row = 0
            while row < 25 {
                let (a, b) = (state[row], state[row &+ 1])
                let (c, d, e) = (state[row &+ 2], state[row &+ 3], state[row &+ 4])
                state[row] = a ^ ~b & c
                state[row &+ 1] = b ^ ~c & d
                state[row &+ 2] = c ^ ~d & e
                state[row &+ 3] = d ^ ~e & a
                state[row &+ 4] = e ^ ~a & b
                row &+= 5
            }
            state[0] ^= Self.constants[round]
        }
    }

    private func column(_ index: Int) -> UInt64 {
        let upper = state[index] ^ state[index &+ 5] ^ state[index &+ 10]
        return upper ^ state[index &+ 15] ^ state[index &+ 20]
    }

    private mutating func mix(_ index: Int, _ left: UInt64, _ right: UInt64) {
        let sum = left ^ (right &<< 1 | right &>> 63)
        var lane = index
        while lane < 25 {
            state[lane] ^= sum
            lane &+= 5
        }
    }
}
