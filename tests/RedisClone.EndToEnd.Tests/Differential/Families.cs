namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// The commands of the differential tests, as <see cref="Template"/>s. A run skips the commands that one of the servers lacks, so
/// a template may precede its command. A family without any remaining command fails.
/// </summary>
internal static class Families
{
    public static readonly IReadOnlyDictionary<string, Template[]> All = new Dictionary<string, Template[]>
    {
        ["strings"] = Template.Parse(
            """
            SET {key} {val}
            SET {key} {val} [ NX | XX ] [ GET ] [ EX {seconds} | PX {milliseconds} | EXAT {at} | PXAT {atms} | KEEPTTL ]
            GET {key}
            GETSET {key} {val}
            GETDEL {key}
            GETEX {key} [ EX {seconds} | PX {milliseconds} | EXAT {at} | PXAT {atms} | PERSIST ]
            SETNX {key} {val}
            SETEX {key} {seconds} {val}
            PSETEX {key} {milliseconds} {val}
            MSET ( {key} {val} ) +
            MSETNX ( {key} {val} ) +
            MGET {key} +
            INCR {key}
            DECR {key}
            INCRBY {key} {number}
            DECRBY {key} {number}
            INCRBYFLOAT {key} {float}
            SET {key} {number}
            SET {key} {float}
            APPEND {key} {val}
            STRLEN {key}
            SETRANGE {key} {offset} {val}
            GETRANGE {key} {index} {index}
            SUBSTR {key} {index} {index}
            LCS {key} {key} [ LEN ] [ IDX ] [ MINMATCHLEN {count} ] [ WITHMATCHLEN ]
            """),
        ["bitmaps"] = Template.Parse(
            """
            SET {key} {val}
            SETBIT {key} {offset} {bits}
            GETBIT {key} {offset}
            BITCOUNT {key} [ {index} {index} [ BIT | BYTE ] ]
            BITPOS {key} {bits} [ {index} [ {index} [ BIT | BYTE ] ] ]
            BITOP ( AND | OR | XOR ) {key} {key} +
            BITOP NOT {key} {key}
            BITFIELD {key} ( GET {type} {place} | SET {type} {place} {number} | INCRBY {type} {place} {number} | OVERFLOW ( WRAP | SAT | FAIL ) ) +
            BITFIELD_RO {key} ( GET {type} {place} ) +
            GETRANGE {key} {index} {index}
            GET {key}
            """),
        ["hyperloglog"] = Template.Parse(
            """
            PFADD {key} {val} +
            PFADD {key} {member} +
            PFADD {key}
            PFCOUNT {key} +
            PFMERGE {key} {key} +
            GET {key}
            STRLEN {key}
            SET {key} {val}
            DEL {key}
            SETRANGE {key} {offset} {val}
            """),
        ["keys"] = Template.Parse(
            """
            SET {key} {val}
            SET {key} {val} EX {seconds}
            DEL {key} +
            UNLINK {key} +
            EXISTS {key} +
            TOUCH {key} +
            TYPE {key}
            RENAME {key} {key}
            RENAMENX {key} {key}
            COPY {key} {key} [ DB {db} ] [ REPLACE ]
            MOVE {key} {db}
            EXPIRE {key} {seconds} [ NX | XX | GT | LT ]
            PEXPIRE {key} {milliseconds} [ NX | XX | GT | LT ]
            EXPIREAT {key} {at} [ NX | XX | GT | LT ]
            PEXPIREAT {key} {atms} [ NX | XX | GT | LT ] [ NX | XX | GT | LT ]
            PERSIST {key}
            TTL {key}
            PTTL {key}
            EXPIRETIME {key}
            PEXPIRETIME {key}
            ! RANDOMKEY
            DBSIZE
            KEYS {pattern}
            ! SCAN 0 COUNT {all} [ MATCH {pattern} ] [ TYPE ( string | list | hash | set | zset | stream | foo ) ]
            SCAN foo
            ! SCAN 0 COUNT 0
            OBJECT REFCOUNT {key}
            OBJECT ENCODING {key}
            SELECT {db}
            SWAPDB {db} {db}
            LPUSH {key} {val}
            SADD {key} {member} +
            HSET {key} {field} {val}
            ZADD {key} {float} {member}
            """),
        ["lists"] = Template.Parse(
            """
            LPUSH {key} {val} +
            RPUSH {key} {val} +
            RPUSH {key} {member} +
            LPUSHX {key} {val} +
            RPUSHX {key} {val} +
            LPOP {key} [ {count} ]
            RPOP {key} [ {count} ]
            LLEN {key}
            LRANGE {key} {index} {index}
            LINDEX {key} {index}
            LSET {key} {index} {val}
            LINSERT {key} ( BEFORE | AFTER ) {member} {val}
            LREM {key} {int} {member}
            LTRIM {key} {index} {index}
            LPOS {key} {member} [ RANK {int} ] [ COUNT {count} ] [ MAXLEN {count} ]
            LMOVE {key} {key} ( LEFT | RIGHT ) ( LEFT | RIGHT )
            RPOPLPUSH {key} {key}
            LMPOP {keys} ( LEFT | RIGHT ) [ COUNT {count} ]
            ! BLPOP {key} + 0.001
            ! BRPOP {key} + 0.001
            ! BLMOVE {key} {key} ( LEFT | RIGHT ) ( LEFT | RIGHT ) 0.001
            ! BRPOPLPUSH {key} {key} 0.001
            ! BLMPOP 0.001 {keys} ( LEFT | RIGHT ) [ COUNT {count} ]
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
        ["hashes"] = Template.Parse(
            """
            HSET {key} ( {field} {val} ) +
            HMSET {key} ( {field} {val} ) +
            HSETNX {key} {field} {val}
            HGET {key} {field}
            HMGET {key} {field} +
            HGETALL {key}
            HKEYS {key}
            HVALS {key}
            HLEN {key}
            HDEL {key} {field} +
            HEXISTS {key} {field}
            HSTRLEN {key} {field}
            HINCRBY {key} {field} {number}
            HINCRBYFLOAT {key} {field} {float}
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
            HEXPIRE {key} {seconds} [ NX | XX | GT | LT ] FIELDS 1 {field}
            HPEXPIRE {key} {milliseconds} [ NX | XX | GT | LT ] FIELDS 2 {field} {field}
            HEXPIREAT {key} {at} [ NX | XX | GT | LT ] FIELDS 1 {field}
            HPEXPIREAT {key} {atms} [ NX | XX | GT | LT ] FIELDS 2 {field} {field}
            HPERSIST {key} FIELDS 2 {field} {field}
            HTTL {key} FIELDS 2 {field} {field}
            HPTTL {key} FIELDS 1 {field}
            HEXPIRETIME {key} FIELDS 1 {field}
            HPEXPIRETIME {key} FIELDS 2 {field} {field}
            """),
        ["sets"] = Template.Parse(
            """
            SADD {key} {member} +
            SADD {key} {number} +
            SREM {key} {member} +
            SREM {key} {number} +
            SCARD {key}
            SISMEMBER {key} {member}
            SMISMEMBER {key} {member} +
            SMEMBERS {key}
            SMOVE {key} {key} {member}
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
            SINTER {key} +
            SUNION {key} +
            SDIFF {key} +
            SINTERSTORE {key} {key} +
            SUNIONSTORE {key} {key} +
            SDIFFSTORE {key} {key} +
            SINTERCARD {keys} [ LIMIT {count} ]
            ! SSCAN {key} 0 COUNT {all} [ MATCH {pattern} ]
            ! SSCAN {key} foo
            SORT {key} ALPHA
            """),
        ["zsets"] = Template.Parse(
            """
            ZADD {key} ( {float} {member} ) +
            ZADD {key} [ NX | XX ] [ GT | LT ] [ CH ] ( {float} {member} ) +
            ZADD {key} [ NX | XX | GT | LT ] INCR {float} {member}
            ZINCRBY {key} {float} {member}
            ZREM {key} {member} +
            ZCARD {key}
            ZSCORE {key} {member}
            ZMSCORE {key} {member} +
            ZRANK {key} {member}
            ZREVRANK {key} {member}
            ZCOUNT {key} {min} {max}
            ZRANGE {key} {index} {index} [ REV ] [ WITHSCORES ]
            ZRANGE {key} {min} {max} BYSCORE [ REV ] [ LIMIT {index} {index} ] [ WITHSCORES ]
            ZREVRANGE {key} {index} {index} [ WITHSCORES ]
            ZRANGEBYSCORE {key} {min} {max} [ WITHSCORES ] [ LIMIT {index} {index} ]
            ZREVRANGEBYSCORE {key} {max} {min} [ WITHSCORES ] [ LIMIT {index} {index} ]
            ZRANGESTORE {key} {key} {index} {index} [ REV ]
            ZRANGESTORE {key} {key} {min} {max} BYSCORE [ LIMIT {index} {index} ]
            ZREMRANGEBYRANK {key} {index} {index}
            ZREMRANGEBYSCORE {key} {min} {max}
            ZPOPMIN {key} [ {count} ]
            ZPOPMAX {key} [ {count} ]
            ZMPOP {keys} ( MIN | MAX ) [ COUNT {count} ]
            ! BZPOPMIN {key} + 0.001
            ! BZPOPMAX {key} + 0.001
            ! BZMPOP 0.001 {keys} ( MIN | MAX ) [ COUNT {count} ]
            ZUNION {keys} [ AGGREGATE ( SUM | MIN | MAX ) ] [ WITHSCORES ]
            ZUNION 2 {key} {key} WEIGHTS {float} {float} [ WITHSCORES ]
            ZINTER {keys} [ AGGREGATE ( SUM | MIN | MAX ) ] [ WITHSCORES ]
            ZDIFF {keys} [ WITHSCORES ]
            ZUNIONSTORE {key} {keys} [ AGGREGATE ( SUM | MIN | MAX ) ]
            ZINTERSTORE {key} 2 {key} {key} [ WEIGHTS {float} {float} ] [ AGGREGATE ( SUM | MIN | MAX ) ]
            ZDIFFSTORE {key} {keys}
            ZINTERCARD {keys} [ LIMIT {count} ]
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
        ["zsets of equal scores"] = Template.Parse(
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
        ["streams"] = Template.Parse(
            """
            XADD {key} [ NOMKSTREAM ] {newid} ( {field} {val} ) +
            XADD {key} {newid} f1 {val} f2 {val}
            XADD {key} {newid} f1 {val} f2 {val}
            XADD {key} ( MAXLEN | MAXLEN = ) {count} {newid} ( {field} {val} ) +
            XADD {key} ( MINID | MINID = ) {id} {newid} f1 {val}
            XLEN {key}
            XRANGE {key} {from} {to} [ COUNT {count} ]
            XREVRANGE {key} {to} {from} [ COUNT {count} ]
            XDEL {key} {id} +
            XTRIM {key} ( MAXLEN [ = ] {count} | MINID [ = ] {id} )
            ! XREAD [ COUNT {some} ] STREAMS {key} {id}
            ! XREAD [ COUNT {some} ] STREAMS {key} {key} {id} $
            XGROUP CREATE {key} {group} ( {id} | $ | 0 ) [ MKSTREAM ] [ ENTRIESREAD {some} ]
            XGROUP CREATE {key} {group} ( $ | 0 ) MKSTREAM
            XGROUP SETID {key} {group} ( {id} | $ | 0 ) [ ENTRIESREAD {some} ]
            XSETID {key} {nextid} [ ENTRIESADDED {some} ]
            XGROUP DESTROY {key} {group}
            XGROUP CREATECONSUMER {key} {group} {consumer}
            XGROUP DELCONSUMER {key} {group} {consumer}
            ! XREADGROUP GROUP {group} {consumer} [ COUNT {some} ] [ NOACK ] STREAMS {key} >
            ! XREADGROUP GROUP {group} {consumer} [ COUNT {some} ] STREAMS {key} {id}
            ! XREADGROUP GROUP {group} {consumer} STREAMS {key} {key} > {id}
            XACK {key} {group} {id} +
            XPENDING {key} {group}
            XCLAIM {key} {group} {consumer} 0 {id} + [ TIME 1000 ] [ RETRYCOUNT {count} ] [ FORCE ] JUSTID
            XCLAIM {key} {group} {consumer} 0 {id} + [ FORCE ] [ LASTID {id} ]
            XAUTOCLAIM {key} {group} {consumer} 0 {from} [ COUNT {some} ] [ JUSTID ]
            XINFO GROUPS {key}
            TYPE {key}
            OBJECT ENCODING {key}
            COPY {key} {key} REPLACE
            RENAME {key} {key}
            DEL {key}
            """),
        // A limited COUNT would choose randomly among members of the same distance.
        ["geo"] = Template.Parse(
            """
            GEOADD {key} ( {lon} {lat} {member} ) +
            GEOADD {key} ( {lon} {lat} {member} ) +
            GEOADD {key} [ NX | XX ] [ CH ] ( {lon} {lat} {member} ) +
            GEOPOS {key} {member} +
            GEODIST {key} {member} {member} [ m | km | ft | mi ]
            GEOHASH {key} {member} +
            GEOSEARCH {key} ( FROMLONLAT {lon} {lat} | FROMMEMBER {member} ) BYRADIUS {distance} ( m | km | ft | mi ) [ ASC | DESC ] [ WITHCOORD ] [ WITHDIST ] [ WITHHASH ]
            GEOSEARCH {key} ( FROMLONLAT {lon} {lat} | FROMMEMBER {member} ) BYBOX {distance} {distance} ( m | km | ft | mi ) [ COUNT {all} ] [ WITHCOORD ] [ WITHDIST ]
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
        ["sorting"] = Template.Parse(
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
        ["newer"] = Template.Parse(
            """
            XDELEX {key} [ KEEPREF | DELREF | ACKED ] IDS 1 {id}
            XACKDEL {key} {group} [ KEEPREF | DELREF | ACKED ] IDS 1 {id}
            XNACK {key} {group} ( SILENT | FAIL | FATAL ) IDS 1 {id} [ FORCE ]
            XCFGSET {key} IDMP-MAXSIZE 10
            XIDMPRECORD {key} p m {id}
            DELEX {key} [ IFEQ {val} ]
            DIGEST {key}
            INCREX {key} BYINT {number} EX {seconds}
            MSETEX 1 {key} {val} EX {seconds}
            SUNIONCARD {keys}
            SDIFFCARD {keys}
            HSETEX {key} EX {seconds} FIELDS 1 {field} {val}
            HGETEX {key} EX {seconds} FIELDS 1 {field}
            HGETDEL {key} FIELDS 1 {field}
            ! LMOVEM {key} {key} LEFT RIGHT COUNT 2 BULK
            ! BLMOVEM {key} {key} LEFT RIGHT 0.001 COUNT 2 BULK
            """),
        ["others"] = Template.Parse(
            """
            ! XREAD COUNT 1 STREAMS {key} 0-0
            ! XREAD COUNT 1 STREAMS {key} {key} 0-0 0-0
            ! XREADGROUP GROUP g c STREAMS {key} >
            XLEN {key}
            XRANGE {key} - +
            ! XGROUP CREATE {key} g 0-0
            SORT {key} BY nosort GET # STORE {key}
            SORT_RO {key} ALPHA
            ! EVAL return(1) {keys}
            ! EVAL_RO return(1) {keys}
            ! EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db {keys}
            ! FCALL f {keys}
            OBJECT IDLETIME {key}
            OBJECT FREQ {key}
            MEMORY USAGE {key}
            ! DUMP {key}
            ! RESTORE {key} 0 x
            """),
        ["transactions"] = Template.Parse(
            """
            MULTI
            MULTI
            EXEC
            EXEC
            EXEC
            DISCARD
            WATCH {key} +
            UNWATCH
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
    };

    /// <summary>
    /// The families that random streams compare. The other families only provide forms for the tests of the command table.
    /// </summary>
    public static IEnumerable<string> Compared => All.Keys.Except(["newer", "others"]);

    public static IEnumerable<Template> Everything =>
        Compared.Except(["transactions", "zsets of equal scores", "sorting"]).SelectMany(f => All[f]);

    /// <summary>Returns the forms of a command. The name of a subcommand follows a bar.</summary>
    public static IEnumerable<Template> Of(string fullName) =>
        All.Values.SelectMany(t => t).Where(t => t.Name == fullName || $"{t.Name}|{t.Subcommand}" == fullName);
}
