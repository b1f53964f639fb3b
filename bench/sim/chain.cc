// The chain of `penstock bench sim` in ns-3: nodes in a row, point-to-point links with a
// drop-tail queue each, and flows of UDP packets from the first node to the last.
//
// Everything comes as arguments, so that both simulators read the same figures:
//
//   chain SPAN_NS INTERVAL_NS SIZE_BYTES DELAY_NS QUEUE_BYTES RATES_BPS PHASES_NS
//
// RATES_BPS has one rate for each link and PHASES_NS one start for each flow, with commas.
// Prints packet-hops, packets that came through, and the seconds that Simulator::Run took.
//
// What could be left out is: no queue discipline above the device's queue, no IPv6, no
// checksums, one static route at each node, and counts read from the queues at the end.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

// PPP, IPv4 and UDP: what a packet is larger on the wire than what the flow sends.
constexpr uint32_t kHeaderBytes = 2 + 20 + 8;
constexpr uint16_t kPort = 9;

static uint64_t g_arrived = 0;

static std::vector<uint64_t> Numbers(const std::string& text)
{
    std::vector<uint64_t> numbers;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
    {
        numbers.push_back(std::stoull(part));
    }
    return numbers;
}

static void Publish(Ptr<Socket> socket, uint32_t payloadBytes, Time interval)
{
    socket->Send(Create<Packet>(payloadBytes));
    Simulator::Schedule(interval, &Publish, socket, payloadBytes, interval);
}

static void Take(Ptr<Socket> socket)
{
    while (socket->Recv())
    {
        ++g_arrived;
    }
}

static Ptr<Socket> OpenSocket(Ptr<Node> node)
{
    return Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
}

int main(int argc, char* argv[])
{
    if (argc != 8)
    {
        std::fprintf(stderr, "usage: %s SPAN INTERVAL SIZE DELAY QUEUE RATES PHASES\n", argv[0]);
        return 2;
    }
    const Time span = NanoSeconds(std::stoull(argv[1]));
    const Time interval = NanoSeconds(std::stoull(argv[2]));
    const uint32_t sizeBytes = std::stoul(argv[3]);
    const Time delay = NanoSeconds(std::stoull(argv[4]));
    // Ours counts the packet in transmission, theirs only those that wait for it.
    const uint32_t queueBytes = std::stoul(argv[5]) - sizeBytes;
    const std::vector<uint64_t> rates = Numbers(argv[6]);
    const std::vector<uint64_t> phases = Numbers(argv[7]);

    NodeContainer nodes;
    nodes.Create(rates.size() + 1);
    InternetStackHelper internet;
    Ipv4StaticRoutingHelper routing;
    internet.SetRoutingHelper(routing);
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);

    std::vector<Ptr<PointToPointNetDevice>> senders;
    Ipv4InterfaceContainer ends;
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.255.0");
    TrafficControlHelper disciplines;
    for (uint32_t i = 0; i < rates.size(); ++i)
    {
        PointToPointHelper wire;
        wire.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rates[i])));
        wire.SetChannelAttribute("Delay", TimeValue(delay));
        wire.SetQueue("ns3::DropTailQueue<Packet>",
                      "MaxSize",
                      QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, queueBytes)));
        NetDeviceContainer devices = wire.Install(nodes.Get(i), nodes.Get(i + 1));
        ends = addresses.Assign(devices);
        addresses.NewNetwork();
        disciplines.Uninstall(devices);
        senders.push_back(DynamicCast<PointToPointNetDevice>(devices.Get(0)));
    }
    const Ipv4Address last = ends.GetAddress(1);
    for (uint32_t i = 0; i < senders.size(); ++i)
    {
        Ptr<Ipv4> ipv4 = nodes.Get(i)->GetObject<Ipv4>();
        routing.GetStaticRouting(ipv4)->AddHostRouteTo(last,
                                                       ipv4->GetInterfaceForDevice(senders[i]));
    }

    Ptr<Socket> sink = OpenSocket(nodes.Get(senders.size()));
    sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
    sink->SetRecvCallback(MakeCallback(&Take));
    for (uint64_t phase : phases)
    {
        Ptr<Socket> flow = OpenSocket(nodes.Get(0));
        flow->Connect(InetSocketAddress(last, kPort));
        Simulator::Schedule(NanoSeconds(phase),
                            &Publish,
                            flow,
                            sizeBytes - kHeaderBytes,
                            interval);
    }

    Simulator::Stop(span);
    const auto start = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;

    uint64_t hops = 0;
    for (const auto& device : senders)
    {
        hops += device->GetQueue()->GetTotalReceivedPackets();
    }
    std::printf("%llu %llu %.6f\n",
                static_cast<unsigned long long>(hops),
                static_cast<unsigned long long>(g_arrived),
                spent.count());
    Simulator::Destroy();
    return 0;
}
