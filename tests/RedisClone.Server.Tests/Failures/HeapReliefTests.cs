using RedisClone.Memory;

namespace RedisClone.Server.Tests.Failures;

/// <summary>A thread that loads data makes room before it gives an allocation up.</summary>
public sealed class HeapReliefTests
{
    /// <summary>No array has this length.</summary>
    private const int TooLong = int.MaxValue;

    [Fact]
    public void APatientThreadMakesRoomAfterAFailedAllocation()
    {
        int made = 0;
        using (HeapRelief.BePatient(() => made++))
        {
            Assert.Throws<OutOfMemoryException>(static () => HeapRelief.Allocate(TooLong));
            Assert.Equal(1, made);
            // A command of the journal runs on the same thread. The shards must not be packed in the middle of it.
            using (HeapRelief.BePatient()) Assert.Throws<OutOfMemoryException>(static () => HeapRelief.Allocate(TooLong));
            Assert.Equal(1, made);
            byte[] words = new byte[1];
            Assert.Throws<OutOfMemoryException>(() => HeapRelief.Resize(ref words, TooLong));
            Assert.Equal(2, made);
        }
        Assert.Throws<OutOfMemoryException>(static () => HeapRelief.Allocate(TooLong));
        Assert.Equal(2, made);
    }

    [Fact]
    public void MakingRoomMayFailToo()
    {
        int made = 0;
        using HeapRelief.Patience patience = HeapRelief.BePatient(() =>
        {
            made++;
            HeapRelief.Allocate(TooLong);
        });
        Assert.Throws<OutOfMemoryException>(static () => HeapRelief.Allocate(TooLong, pinned: true));
        Assert.Equal(1, made);
    }

    [Fact]
    public void AResizedArrayKeepsItsContent()
    {
        int[] numbers = [1, 2, 3];
        HeapRelief.Resize(ref numbers, 5);
        Assert.Equal([1, 2, 3, 0, 0], numbers);
        HeapRelief.Resize(ref numbers, 2);
        Assert.Equal([1, 2], numbers);
    }
}
