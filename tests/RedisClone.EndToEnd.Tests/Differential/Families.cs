namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// The requests of the differential tests. A family has the templates that are derived from the rows of some groups
/// (<see cref="RowTemplates"/>), and lines of its own. These lines are for commands whose rows do not say enough, for values that
/// are rare by chance, and for other commands that belong to the scenario.
/// </summary>
internal static class Families
{
    private static readonly string[] s_apart = ["transactions", "zsets of equal scores", "sorting", "cluster"];

    public static readonly IReadOnlyDictionary<string, Family> All = new Dictionary<string, Family>
    {
        ["strings"] = new(["string"],
            """
            SET {key} {val}
            SET {key} {number}
            SET {key} {float}
            """),
        ["bitmaps"] = new(["bitmap"],
            """
            BITOP ( AND | OR | XOR ) {key} {key} +
            BITOP NOT {key} {key}
            SET {key} {val}
            GETRANGE {key} {index} {index}
            GET {key}
            """),
        ["hyperloglog"] = new(["hyperloglog"],
            """
            PFADD {key} {member} +
            PFADD {key}
            GET {key}
            STRLEN {key}
            SET {key} {val}
            DEL {key}
            DEL {key}
            DEL {key}
            SETRANGE {key} {offset} {val}
            """),
        ["keys"] = new(["generic"],
            """
            SET {key} {val}
            SET {key} {val} EX {seconds}
            PEXPIREAT {key} {atms} [ NX | XX | GT | LT ] [ NX | XX | GT | LT ]
            TTL {key}
            PTTL {key}
            ! RANDOMKEY
            ! SCAN 0 COUNT {all} [ MATCH {pattern} ] [ TYPE ( string | list | hash | set | zset | stream | foo ) ]
            SCAN foo
            ! SCAN 0 COUNT 0
            OBJECT REFCOUNT {key}
            OBJECT ENCODING {key}
            SELECT {db}
            SWAPDB {db} {db}
            DBSIZE
            LPUSH {key} {val}
            SADD {key} {member} +
            HSET {key} {field} {val}
            ZADD {key} {float} {member}
            """),
        ["lists"] = new(["list"],
            """
            RPUSH {key} {member} +
            RPUSH {key} {val} +
            BLPOP {key} foo
            BLMPOP -1 {keys} LEFT
            LPOP {key} 9223372036854775807
            RPOP {key} 9223372036854775808
            LRANGE {key} -9223372036854775808 9223372036854775807
            LTRIM {key} 9223372036854775807 -9223372036854775808
            LINDEX {key} -9223372036854775808
            LPOS {key} {member} RANK 9223372036854775807 MAXLEN 9223372036854775807
            LPOS {key} {member} RANK -9223372036854775808
            LMPOP {keys} LEFT COUNT 9223372036854775807
            LMPOP 9223372036854775807 {key} LEFT
            SORT {key} ALPHA [ LIMIT {index} {count} ] [ ASC | DESC ]
            SORT {key} ALPHA STORE {key}
            """),
        ["hashes"] = new(["hash"],
            """
            HSET {key} ( {field} {val} ) +
            HSET {key} {field} {number}
            HSET {key} {field} {float}
            ! HRANDFIELD {key} {all} [ WITHVALUES ]
            ! HSCAN {key} 0 COUNT {all} [ MATCH {pattern} ]
            ! HRANDFIELD {key} foo
            ! HRANDFIELD {key} 9223372036854775807
            ! HRANDFIELD {key} -9223372036854775808 WITHVALUES
            ! HRANDFIELD {key} 9223372036854775807 WITHVALUES
            HINCRBY {key} {field} 9223372036854775807
            HINCRBY {key} {field} -9223372036854775808
            ! HSCAN {key} foo
            """),
        ["sets"] = new(["set"],
            """
            SADD {key} {member} +
            SADD {key} {number} +
            SREM {key} {number} +
            ! SPOP {key} {all}
            ! SRANDMEMBER {key} {all}
            ! SPOP {key} foo
            ! SPOP {key} 9223372036854775807
            ! SPOP {key} -9223372036854775808
            ! SRANDMEMBER {key} -9223372036854775808
            ! SRANDMEMBER {key} 9223372036854775807
            SINTERCARD {keys} LIMIT 9223372036854775807
            SINTERCARD 9223372036854775807 {key}
            ! SRANDMEMBER {key} foo
            ! SSCAN {key} 0 COUNT {all} [ MATCH {pattern} ]
            ! SSCAN {key} foo
            SORT {key} ALPHA
            """),
        ["zsets"] = new(["sorted-set"],
            """
            ZADD {key} ( {float} {member} ) +
            ZADD {key} [ NX | XX | GT | LT ] INCR {float} {member}
            ZRANGE {key} {index} {index} [ REV ] [ WITHSCORES ]
            ZRANGE {key} {min} {max} BYSCORE [ REV ] [ LIMIT {index} {index} ] [ WITHSCORES ]
            ZRANGESTORE {key} {key} {index} {index} [ REV ]
            ZRANGESTORE {key} {key} {min} {max} BYSCORE [ LIMIT {index} {index} ]
            ! ZRANDMEMBER {key} {all} [ WITHSCORES ]
            ! ZRANDMEMBER {key} -9223372036854775808 WITHSCORES
            ! ZRANDMEMBER {key} 9223372036854775807
            ZUNION 9223372036854775807 {key}
            ZUNIONSTORE {key} 9223372036854775807 {key}
            ZINTERCARD {keys} LIMIT 9223372036854775807
            ZPOPMIN {key} 9223372036854775807
            ZPOPMAX {key} -1
            ZMPOP {keys} MIN COUNT 9223372036854775807
            ZRANGE {key} -9223372036854775808 9223372036854775807
            ZRANGE {key} -inf +inf BYSCORE LIMIT 9223372036854775807 9223372036854775807
            ZRANGEBYSCORE {key} -inf +inf LIMIT -9223372036854775808 -1
            ZREMRANGEBYRANK {key} 9223372036854775807 -9223372036854775808
            ! ZSCAN {key} 0 COUNT {all} [ MATCH {pattern} ]
            SADD {key} {member} +
            """),
        // The results of these commands depend on the order of members with equal scores. With different scores the results would
        // be random.
        ["zsets of equal scores"] = new([],
            """
            ! ZADD {key} ( 0 {member} ) +
            ZREM {key} {member} +
            ZLEXCOUNT {key} {lex} {lex}
            ZRANGE {key} {lex} {lex} BYLEX [ LIMIT {index} {index} ]
            ZRANGE {key} {lex} {lex} BYLEX REV [ LIMIT {index} {index} ]
            ZRANGEBYLEX {key} {lex} {lex} [ LIMIT {index} {index} ]
            ZREVRANGEBYLEX {key} {lex} {lex} [ LIMIT {index} {index} ]
            ZRANGESTORE {key} {key} {lex} {lex} BYLEX [ LIMIT {index} {index} ]
            ZREMRANGEBYLEX {key} {lex} {lex}
            ZRANGE {key} 0 -1
            """),
        ["streams"] = new(["stream"],
            """
            XADD {key} [ NOMKSTREAM ] {newid} ( {field} {val} ) +
            XADD {key} {newid} f1 {val} f2 {val}
            XADD {key} {newid} f1 {val} f2 {val}
            XADD {key} ( MAXLEN | MAXLEN = ) {count} {newid} ( {field} {val} ) +
            XADD {key} ( MINID | MINID = ) {id} {newid} f1 {val}
            XTRIM {key} ( MAXLEN [ = ] {count} | MINID [ = ] {id} )
            ! XREAD [ COUNT {some} ] STREAMS {key} {key} {id} $
            XGROUP CREATE {key} {group} ( $ | 0 ) MKSTREAM
            XGROUP CREATE {key} {group} 0
            XGROUP CREATE {key} {group} 0
            ! XREADGROUP GROUP {group} {consumer} [ COUNT {some} ] [ NOACK ] STREAMS {key} >
            ! XREADGROUP GROUP {group} {consumer} STREAMS {key} {key} > {id}
            XPENDING {key} {group}
            XINFO STREAM {key}
            XCLAIM {key} {group} {consumer} 0 {id} + [ TIME 1000 ] [ RETRYCOUNT {count} ] [ FORCE ] JUSTID
            XCLAIM {key} {group} {consumer} 0 {id} + [ FORCE ] [ LASTID {id} ]
            XAUTOCLAIM {key} {group} {consumer} 0 {from} [ COUNT {some} ] [ JUSTID ]
            TYPE {key}
            OBJECT ENCODING {key}
            COPY {key} {key} REPLACE
            RENAME {key} {key}
            DEL {key}
            """),
        // A limited COUNT would choose randomly among members of the same distance.
        ["geo"] = new(["geo"],
            """
            GEOADD {key} ( {lon} {lat} {member} ) +
            GEOSEARCH {key} ( FROMLONLAT {lon} {lat} | FROMMEMBER {member} ) BYRADIUS {distance} ( m | km | ft | mi ) [ ASC | DESC ] [ WITHCOORD ]
            GEOSEARCH {key} ( FROMLONLAT {lon} {lat} | FROMMEMBER {member} ) BYRADIUS {distance} km [ WITHDIST ] [ WITHHASH ]
            GEOSEARCH {key} ( FROMLONLAT {lon} {lat} | FROMMEMBER {member} ) BYBOX {distance} {distance} ( m | km | ft | mi ) [ COUNT {all} ]
            GEOSEARCH {key} ( FROMLONLAT {lon} {lat} | FROMMEMBER {member} ) BYBOX {distance} {distance} km [ WITHCOORD ] [ WITHDIST ]
            GEOSEARCHSTORE {key} {key} ( FROMLONLAT {lon} {lat} | FROMMEMBER {member} ) BYRADIUS {distance} ( m | km ) [ STOREDIST ]
            GEOSEARCHSTORE {key} {key} FROMMEMBER {member} BYBOX {distance} {distance} km [ COUNT {all} ]
            GEORADIUS {key} {lon} {lat} {distance} ( m | km | ft | mi ) [ WITHCOORD ] [ WITHDIST ] [ WITHHASH ] [ ASC | DESC ]
            GEORADIUS {key} {lon} {lat} {distance} km [ STORE {key} ] [ STOREDIST {key} ]
            GEORADIUS_RO {key} {lon} {lat} {distance} km [ COUNT {all} ] [ WITHDIST ]
            GEORADIUSBYMEMBER {key} {member} {distance} km [ WITHHASH ] [ STORE {key} ]
            GEORADIUSBYMEMBER_RO {key} {member} {distance} km [ WITHCOORD ]
            GEOSEARCH {key} FROMLONLAT {lon} {lat} BYRADIUS {distance} km COUNT 9223372036854775807
            GEOSEARCH {key} FROMLONLAT {lon} {lat} BYRADIUS {distance} km COUNT 9223372036854775808
            GEORADIUS {key} {lon} {lat} {distance} km COUNT -9223372036854775808
            ZREM {key} {member} +
            ZSCORE {key} {member}
            ZCARD {key}
            """),
        // Equal elements, or texts with equal weights, would have a random order.
        ["sorting"] = new([],
            """
            ! RPUSH {key} {count} +
            ! RPUSH {key} {number} +
            ! SADD {key} {number} +
            ! ZADD {key} ( {float} {count} ) +
            ! SET {key} {number}
            ! HSET {key} {field} {number}
            SORT {key} [ LIMIT {index} {count} ] [ ASC | DESC ]
            SORT {key} [ LIMIT {index} {count} ] [ GET # ] [ GET k* ] [ GET k*->f1 ] [ DESC ]
            SORT {key} BY k* [ GET # ] [ GET k*->f2 ] [ LIMIT {index} {count} ]
            SORT {key} BY k*->f1 DESC
            SORT {key} ALPHA DESC STORE {key}
            SORT {key} BY k* LIMIT {index} {count} STORE {key}
            SORT_RO {key} [ BY k* ] [ GET # ]
            SORT_RO {key} LIMIT {index} {count}
            SORT {key} LIMIT 0 9223372036854775807
            SORT {key} LIMIT -9223372036854775808 9223372036854775807
            SORT {key} LIMIT 1 -9223372036854775808
            DEL {key}
            """),
        ["transactions"] = new(["transactions"],
            """
            MULTI
            EXEC
            EXEC
            SET {key} {val}
            GET {key}
            INCR {key}
            MSET ( {key} {val} ) +
            MGET {key} +
            DEL {key} +
            RENAME {key} {key}
            COPY {key} {key} REPLACE
            LPUSH {key} {val} +
            LRANGE {key} 0 -1
            LMOVE {key} {key} LEFT RIGHT
            SELECT {db}
            FLUSHDB
            SWAPDB 0 1
            NOSUCHCOMMAND {val}
            DBSIZE
            SADD {key} {member} +
            SMEMBERS {key}
            HSET {key} {field} {val}
            HGETALL {key}
            ZADD {key} {float} {member}
            ZRANGE {key} 0 -1 WITHSCORES
            """),
        // Cluster mode is off, so these requests only fail.
        ["cluster"] = new(["cluster"], ""),
        ["server"] = new(["server", "connection", "pubsub", "scripting"],
            """
            SET {key} {val}
            GET {key}
            """),
    };

    /// <summary>The families whose requests can be mixed.</summary>
    public static IEnumerable<Family> Independent => All.Where(f => !s_apart.Contains(f.Key)).Select(f => f.Value);

    /// <summary>All lines.</summary>
    public static IEnumerable<Template> Lines => All.Values.SelectMany(family => family.Templates);

    /// <summary>The lines for a command. The name of a subcommand follows a bar.</summary>
    public static IEnumerable<Template> LinesOf(string fullName) => Lines.Where(t => t.Name == fullName || t.FullName == fullName);
}
